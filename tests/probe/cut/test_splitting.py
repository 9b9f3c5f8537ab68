"""The one idea: tail(prefix(x)) == model(x), and the prefix never changes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from probe.cut.split import split
from probe.errors import InputError
from probe.examples import Examples, Value
from probe.modules import mode, named_state
from probe.seeding import stream
from probe.training.loop import Recipe, fit
from probe.values.cache import LabelledRows
from tests.zoo import CUTS, Twice, specimen


def outputs(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with mode(model, training=False), torch.no_grad():
        return model(x)


def feature_value(model: nn.Module, feature: str, x: torch.Tensor) -> torch.Tensor:
    """The feature's value, read by a plain hook and copied before anything can overwrite it."""
    seen: list[torch.Tensor] = []
    name, _, call = feature.partition("#")
    hook = model.get_submodule(name).register_forward_hook(lambda m, i, o: seen.append(o.clone()))
    outputs(model, x)
    hook.remove()
    return seen[int(call or 1) - 1]


def parts(value: Value) -> tuple[torch.Tensor, ...]:
    return (value,) if isinstance(value, torch.Tensor) else value


class Rows(tuple[torch.Tensor, ...]):
    """What a prefix gives for all examples, by index."""

    def __getitem__(self, indices: torch.Tensor) -> Value:  # type: ignore[override]
        first, *others = (part[indices] for part in self)
        return (first, *others) if others else first


@pytest.mark.parametrize(("name", "feature"), CUTS)
def test_tail_of_prefix_is_the_model(name: str, feature: str) -> None:
    model, x, _ = specimen(name)
    before = copy.deepcopy(model.state_dict())
    cut = split(model, feature, x[:8])
    assert cut.cached, cut.slow
    assert torch.equal(outputs(cut.tail, cut.prefix(x)), outputs(model, x))
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert not any(part.requires_grad for part in parts(cut.prefix(x.clone().requires_grad_())))


@pytest.mark.parametrize(("name", "feature"), CUTS)
def test_frozen_is_what_moves_the_feature(name: str, feature: str) -> None:
    """Brute force: perturb each parameter and buffer and see whether the feature moves."""
    model, x, _ = specimen(name)
    cut = split(model, feature, x[:8])
    value = feature_value(model, feature, x)
    moving = set()
    for key, tensor in named_state(model).items():
        if not tensor.is_floating_point():
            continue
        saved = tensor.detach().clone()
        with torch.no_grad():
            tensor.add_(torch.rand(tensor.shape, generator=stream(0, key)) + 0.5)
        if not torch.equal(feature_value(model, feature, x), value):
            moving.add(key)
        with torch.no_grad():
            tensor.copy_(saved)
    assert moving == set(cut.frozen)


@pytest.mark.parametrize(("name", "feature"), CUTS)
def test_training_the_tail_leaves_the_feature_alone(name: str, feature: str) -> None:
    """Bit for bit, buffers included, while everything behind it is fresh and then moves."""
    model, x, y = specimen(name)
    cut = split(model, feature, x[:8])
    if not cut.trainable:
        return
    before = parts(cut.prefix(x))
    start = copy.deepcopy(cut.tail.state_dict())
    cut.reinitialize("murata", stream(0))
    fresh = copy.deepcopy(cut.tail.state_dict())
    fit(cut.tail, LabelledRows(Rows(before), y), Recipe(epochs=2, batch_size=8), stream(1))

    trained = cut.tail.state_dict()
    weights = {key for key, p in cut.tail.named_parameters() if p.requires_grad}
    assert weights
    for key in trained:
        if key.removeprefix("model.") in cut.frozen:
            assert torch.equal(trained[key], start[key])
        elif key in weights:
            assert not torch.equal(trained[key], fresh[key])
            assert not torch.equal(fresh[key], start[key])
    assert all(map(torch.equal, before, parts(cut.prefix(x))))


def test_a_frozen_batch_norm_counts_no_batches() -> None:
    model, x, y = specimen("drops")
    cut = split(model, "first", x[:8])
    before = int(model.get_buffer("first.2.num_batches_tracked"))
    assert before > 0
    cut.reinitialize("murata", stream(0))
    fit(
        cut.tail,
        LabelledRows(Rows(parts(cut.prefix(x))), y),
        Recipe(epochs=1, batch_size=8),
        stream(1),
    )
    assert int(cut.tail.get_buffer("model.first.2.num_batches_tracked")) == before


def test_requires_grad_alone_would_not_do() -> None:
    """The negative control: batch statistics drift in train mode whatever requires_grad says."""
    model, x, y = specimen("drops")
    value = feature_value(model, "first", x)
    model.get_submodule("first").requires_grad_(False)
    fit(model, Examples(x, y), Recipe(epochs=1, batch_size=8), stream(1))
    assert not torch.equal(feature_value(model, "first", x), value)


def test_the_tail_keeps_its_dropout_and_the_prefix_does_not() -> None:
    model, x, _ = specimen("drops")
    tail = split(model, "first", x[:8]).tail.train()
    live = {name for name, m in tail.named_modules() if isinstance(m, nn.Dropout) and m.training}
    assert live == {"model.second.1"}


def test_a_branch_beside_the_feature_belongs_to_the_tail() -> None:
    model, x, _ = specimen("branches")
    assert split(model, "middle", x[:8]).frozen == (
        "middle.bias",
        "middle.weight",
        "stem.bias",
        "stem.weight",
    )


def test_what_is_frozen_does_not_follow_registration() -> None:
    model, x, _ = specimen("reversed")
    frozen = split(model, "middle", x[:8]).frozen
    assert frozen == ("first.bias", "first.weight", "middle.running_mean", "middle.running_var")


def test_a_shared_weight_stays_frozen_in_the_tail() -> None:
    model, x, y = specimen("tied")
    cut = split(model, "encode", x[:8])
    fit(
        cut.tail,
        LabelledRows(Rows(parts(cut.prefix(x))), y),
        Recipe(epochs=1, batch_size=8),
        stream(1),
    )
    assert torch.equal(cut.tail.get_parameter("model.encode.weight"), model.encode.weight)


def test_a_shared_module_in_a_chain_is_not_cut_in_two() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Linear(4, 2))
    cut = split(model, "1", torch.randn(5, 4, generator=stream(0)))
    assert not cut.tail.get_parameter("model.0.weight").requires_grad
    assert cut.tail.get_parameter("model.3.weight").requires_grad


def test_views_and_in_place_writes_are_followed() -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(4, 3)
            self.mark = nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            both = x.new_zeros(len(x), 4)
            both[:, :2] = self.a(x)
            both.view(-1, 2, 2)[:, 1].copy_(self.b(x))
            return self.c(self.mark(both))

    cut = split(Writes(), "mark", torch.randn(6, 4, generator=stream(0)))
    assert cut.cached
    assert set(cut.frozen) == {"a.weight", "a.bias", "b.weight", "b.bias"}


def test_nothing_is_left_on_the_model() -> None:
    model, x, _ = specimen("drops")
    model.get_submodule("second").eval()
    modes = [m.training for m in model.modules()]
    split(model, "first", x[:8])
    with pytest.raises(InputError):
        split(model, "nowhere", x[:8])
    assert [m.training for m in model.modules()] == modes
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_the_global_generator_is_left_alone() -> None:
    model, x, y = specimen("drops")
    before = torch.get_rng_state()
    cut = split(model, "first", x[:8])
    cut.reinitialize("torch", stream(0))
    fit(cut.tail, LabelledRows(Rows(parts(cut.prefix(x))), y), Recipe(epochs=1), stream(1))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("build", "feature", "says"),
    [
        (Twice, "layer", "name the call, layer#1 to layer#2"),
        (Twice, "layer#3", "unknown call of 'layer' '3'"),
        (Twice, "laier", "did you mean 'layer'"),
        (lambda: nn.Sequential(nn.Linear(6, 3), nn.LSTM(3, 3)), "0", "returns tuple"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(build, feature, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=says):
        split(build(), feature, torch.randn(4, 6, generator=stream(0)))


def test_a_layer_that_does_not_run_is_refused() -> None:
    model = InPlaceWithSpare()
    with pytest.raises(InputError, match="does not run"):
        split(model, "spare", torch.randn(4, 6, generator=stream(0)))


class InPlaceWithSpare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.spare = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


def test_a_hook_on_a_container_is_not_lost() -> None:
    """A chain is only cut in two where that gives the model's own output."""
    model = nn.Sequential(nn.Sequential(nn.Linear(6, 5), nn.ReLU()), nn.Linear(5, 3))
    model[0].register_forward_hook(lambda module, inputs, output: output + 1)
    x = torch.randn(8, 6, generator=stream(0))
    cut = split(model, "0.0", x)
    assert torch.equal(outputs(cut.tail, cut.prefix(x)), outputs(model, x))
