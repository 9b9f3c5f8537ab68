"""Fresh values for a tail from a new model, and what no rule writes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probe import Examples, Recipe, partial_retrain
from probe.cut.cuts import split
from probe.errors import InputError
from probe.modules import named_state
from probe.seeding import stream
from probe.training.fresh_weights import fresh_state

TASKS = [[0, 1], [2, 3]]
QUICK = Recipe(epochs=1, batch_size=8)


class Scaled(nn.Module):
    """A block with a parameter of its own that no `reset_parameters` writes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)
        self.gamma = nn.Parameter(torch.full((8,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.gamma * self.norm(self.inner(x)).relu()


class Tokens(nn.Module):
    """As vision transformers are: tokens at the entrance, scaled blocks, and a head.

    Its parameter `mask` is read by nobody, and `tied` is the first block's own dense layer again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(8))
        self.mask = nn.Parameter(torch.full((8,), 7.0))
        self.blocks = nn.Sequential(Scaled(), Scaled(), Scaled())
        self.tied = self.blocks[0].inner
        self.head = nn.Linear(8, 4)
        self.register_buffer("shift", torch.randn(4))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.tied(self.blocks(x + self.token))) + self.shift


@pytest.fixture
def model() -> Tokens:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return trained(Tokens())


def trained(model: Tokens) -> Tokens:
    """Move every value, statistics included, away from where it began."""
    with torch.no_grad():
        for tensor in named_state(model).values():
            if tensor.is_floating_point():
                tensor.add_(3.0)
    return model


@pytest.fixture(scope="module")
def data() -> Examples:
    return Examples(torch.randn(40, 8, generator=stream(0, "x")), torch.arange(40) % 4)


def in_model(cut_tail: nn.Module) -> dict[str, Tensor]:
    """Return the state of a tail that is the whole model in a wrapper, by names in the model."""
    return {n.removeprefix("model."): t for n, t in named_state(cut_tail).items()}


def test_a_tail_takes_a_new_models_values_and_keeps_what_is_frozen(model, data) -> None:
    """Buffers too; a layer that the prefix needs stays as it is under its other name as well."""
    before = {name: tensor.clone() for name, tensor in named_state(model).items()}
    cut = split(model, "blocks.0", data.x)
    cut.reinitialize(Tokens, stream(3, "tail"))
    built = fresh_state(Tokens, stream(3, "tail"))
    after = in_model(cut.tail)
    frozen = {*cut.frozen, "tied.weight", "tied.bias"}
    assert {"token", "blocks.0.gamma", "blocks.0.inner.weight"} <= frozen
    for name, value in after.items():
        assert torch.equal(value, (before if name in frozen else built)[name]), name
    assert all(map(torch.equal, named_state(model).values(), before.values()))


def test_what_no_rule_writes_is_refused_before_any_cut_and_all_of_it_named(
    model, data, monkeypatch
) -> None:
    """Not what every feature needs, nor what nothing reads."""
    monkeypatch.setattr("probe.retrain.cut_found", lambda *_: pytest.fail("a cut was made"))
    names = "'blocks.1.gamma', 'blocks.2.gamma'"
    with pytest.raises(InputError, match=rf"the parameters {names}: pass fresh=, a function"):
        partial_retrain(model, ["blocks.0", "blocks.1"], data, data, TASKS, QUICK)
