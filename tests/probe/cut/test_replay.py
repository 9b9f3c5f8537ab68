"""The model's own forward runs behind the feature, and nothing that is frozen is computed."""

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from probe.cut import planned_cut
from probe.cut.cuts import cut_each, split
from probe.errors import InputError
from tests.laws.zoo.specimens import specimen
from tests.laws.zoo.written import written


def flops(part, x):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        part(x)
    return int(counter.get_total_flops())


@pytest.mark.parametrize("feature", ["layer1.0.conv1", "layer2.0.skip"])
def test_the_tail_computes_what_is_behind_and_no_more(feature, monkeypatch):
    """Mul-adds of the prefix and of the tail sum to those of the model, for a replayed tail too."""
    monkeypatch.setattr(planned_cut, "_chain_end", lambda *a: None)
    model, x, _ = specimen("reduced_resnet18", 4)
    cut = split(model.eval(), feature, x)
    behind = flops(cut.tail.eval(), cut.prefix(x))
    frozen = [
        name.removesuffix(".weight") for name in cut.frozen if name.endswith("weight")
    ]
    before = sum(flops_of_module(model, name, x) for name in frozen)
    assert before > 0
    assert behind + before == flops(model, x)


def flops_of_module(model, name, x):
    inputs = []
    module = model.get_submodule(name)
    hook = module.register_forward_pre_hook(lambda m, args: inputs.append(args[0]))
    model(x)
    hook.remove()
    return flops(module, inputs[0])


def test_one_pass_gives_what_each_prefix_gives():
    model, x, _ = specimen("reduced_resnet18", 5)
    features = [
        "stem",
        "layer1.0.bn1",
        "layer2",
        "layer3.1.conv2",
        "output",
    ]
    cuts = cut_each(model.eval(), features, x)
    prefixes = {cut.facts.name: cut.split().prefix for cut in cuts.each}
    runs = []
    list(cuts.values([x]))  # which also looks for the faster layout
    inner = prefixes["stem"].get_submodule("model")
    with inner.register_forward_pre_hook(lambda *_: runs.append(1)):
        together = {name: value for _, name, value in cuts.values([x])}
    assert len(runs) == 1
    for name, prefix in prefixes.items():
        alone = prefix(x)
        same = together[name]
        pairs = (
            [(alone, same)]
            if isinstance(alone, Tensor)
            else zip(alone, same, strict=True)
        )
        assert all(torch.equal(a, b) for a, b in pairs)


def test_a_tail_that_needs_what_is_not_kept_says_so():
    """After some time it reads what it never read before."""

    @written("b")
    def late(m, x):
        y = torch.relu(m.a(x))
        return m.c(m.b(y) + y if getattr(m, "late", False) else m.b(y))

    model, x, _ = late.made()
    cut = split(model, "b", x)
    cut.tail.get_submodule("model").late = True  # type: ignore[assignment]
    with pytest.raises(InputError, match="takes a different path"):
        cut.tail(cut.prefix(x))
