"""A cut at a feature: what is frozen, what is trained, and what is left as it was.

That tail(prefix(x)) is model(x) and that no training moves the feature: see tests/laws/test_zoo.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from probe.batch import Value
from probe.cut.cuts import split
from probe.cut.split import Split
from probe.errors import InputError
from probe.examples import Examples
from probe.modules import mode
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.loop import fit
from probe.training.recipe import Recipe
from probe.values.cache import LabeledRows
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.net import feature_value
from tests.laws.zoo.specimens import specimen
from tests.laws.zoo.written import written

TASKS = [[0, 1], [2]]


@written()
def plain(m: nn.Module, x: Tensor) -> Tensor:
    return m.c(torch.relu(m.b(torch.relu(m.a(x)))))


def inputs(n: int = 8) -> Tensor:
    return torch.randn(n, 6, generator=stream(0, "split"))


def examples(n: int = 60) -> Examples:
    return Examples(inputs(n), torch.arange(n) % 3)


class Rows(tuple[Tensor, ...]):
    """What a prefix gives for all examples, by number."""

    def __getitem__(self, indices: Tensor) -> Value:  # type: ignore[override]
        first, *others = (part[indices] for part in self)
        return (first, *others) if others else first


def trained(name: str, feature: str, fresh: bool = True) -> tuple[Split, nn.Module]:
    """Cut at a feature and train the tail."""
    model, x, y = specimen(name)
    cut = split(model, feature, x[:8])
    if fresh:
        cut.reinitialize("murata", stream(0))
    value = cut.prefix(x)
    rows = Rows([value] if isinstance(value, Tensor) else value)
    fit(cut.tail, LabeledRows(rows, y), Recipe(epochs=1, batch_size=8), stream(1))
    return cut, model


def test_a_frozen_batch_norm_counts_no_batches() -> None:
    cut, model = trained("dropout_on_both_sides", "norm")
    before = int(model.get_buffer("norm.num_batches_tracked"))
    assert before > 0
    assert int(cut.tail.get_buffer("model.norm.num_batches_tracked")) == before


def test_requires_grad_alone_would_not_do() -> None:
    """The negative control: batch statistics drift in train mode whatever requires_grad says."""
    model, x, y = specimen("dropout_on_both_sides")
    before = feature_value(model.eval(), "norm", x)
    for name in ("a", "norm"):
        model.get_submodule(name).requires_grad_(False)
    fit(model, Examples(x, y), Recipe(epochs=1, batch_size=8), stream(1))
    assert not torch.equal(feature_value(model.eval(), "norm", x)[0], before[0])


def test_the_tail_keeps_its_dropout_and_the_prefix_does_not() -> None:
    model, x, _ = specimen("dropout_on_both_sides")
    tail = split(model, "norm", x[:8]).tail.train()
    live = {name for name, m in tail.named_modules() if isinstance(m, nn.Dropout) and m.training}
    assert live == {"model.drop_b"}


@pytest.mark.parametrize(
    ("name", "feature", "frozen"),
    [
        # What runs beside the feature belongs to the tail, and registration says nothing.
        (
            "a_branch_beside_and_a_skip_across",
            "middle",
            "middle.bias middle.weight stem.bias stem.weight",
        ),
        ("registered_from_the_end", "norm", "a.bias a.weight norm.running_mean norm.running_var"),
    ],
)
def test_what_is_frozen_is_what_the_feature_depends_on(
    name: str, feature: str, frozen: str
) -> None:
    model, x, _ = specimen(name)
    assert split(model, feature, x[:8]).frozen == tuple(frozen.split())


def test_parameters_tied_by_their_data_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.Linear(6, 3))
    model[2].weight.data = model[0].weight.data
    cut = split(model, "1", inputs())
    assert set(cut.frozen) == {"0.weight", "0.bias", "2.weight"}
    assert not cut.tail.get_parameter("model.2.weight").requires_grad


def test_a_layer_with_two_names_is_known_by_both() -> None:
    model, x, _ = plain.made()
    model.add_module("alias", model.a)
    assert set(split(model, "alias", x).frozen) == set(split(model, "a", x).frozen)


def test_a_batch_norm_on_both_sides_is_held() -> None:
    model, x, _ = HOSTILE["one_batch_norm_on_both_sides"].made()
    tail = split(model, "mark", x).tail.train()
    assert not tail.get_submodule("model.norm").training
    assert not tail.get_parameter("model.norm.weight").requires_grad


@pytest.mark.parametrize("chain", [False, True])
def test_what_the_user_had_frozen_is_retrained_all_the_same(chain: bool) -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3)) if chain else plain.made()[0]
    model.requires_grad_(False)
    tail = split(model, "0" if chain else "a", inputs()).tail
    assert all(p.requires_grad for name, p in tail.named_parameters() if "model.a" not in name)
    assert not any(p.requires_grad for p in model.parameters())


def test_an_unused_head_is_no_reason_to_train_behind_the_output() -> None:
    model, data = plain.made()[0], examples()
    model.add_module("spare", nn.Linear(6, 2))
    assert not split(model, "c", data.x).trainable
    result = partial_retrain(model, ["c"], data, data, TASKS)
    predicted = model.eval()(data.x).argmax(1)
    assert result.pra["c"] == pytest.approx(float((predicted == data.y).double().mean()))


def test_modes_hooks_and_the_global_generator_are_left_alone() -> None:
    model, x, y = specimen("nested")
    model.get_submodule("0.1").eval()
    modes = [m.training for m in model.modules()]
    before = torch.get_rng_state()
    cut = split(model, "0.1", x[:8])
    cut.reinitialize("torch", stream(0))
    value = cut.prefix(x)
    assert isinstance(value, Tensor)
    fit(cut.tail, Examples(value, y), Recipe(epochs=1), stream(1))
    with pytest.raises(InputError):
        split(model, "nowhere", x[:8])
    assert torch.equal(torch.get_rng_state(), before)
    assert [m.training for m in model.modules()] == modes
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


class Merging(nn.Linear):
    """A layer whose `train` does more than set a flag, as adapters do."""

    merged = False

    def train(self, mode: bool = True) -> Merging:
        self.merged = not mode
        super().train(mode)
        return self


def test_a_models_own_train_is_called_both_ways() -> None:
    model = nn.Sequential(Merging(6, 3))
    with mode(model, training=False):
        assert model[0].merged
    assert not model[0].merged


@pytest.mark.parametrize(
    ("build", "feature", "says"),
    [
        (HOSTILE["called_twice"].build, "layer", "name the call, layer#1 to layer#2"),
        (HOSTILE["called_twice"].build, "layer#3", "unknown call of 'layer' '3'"),
        (HOSTILE["called_twice"].build, "laier", "did you mean 'layer'"),
        (lambda: nn.Sequential(nn.Linear(6, 3), nn.LSTM(3, 3)), "0", "returns tuple"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(
    build: Callable[[], nn.Module], feature: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        split(build(), feature, inputs(4))


def test_arrays_are_not_taken_for_tensors() -> None:
    with pytest.raises(InputError, match=r"must be a tensor, .* got Tensor, ndarray"):
        Examples(inputs(), examples(8).y.numpy())  # type: ignore[arg-type]
