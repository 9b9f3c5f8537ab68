"""Inputs by name may come in any order, and a chain may be given its one input as any of the kinds.

Values are known by what they are computed from: the inputs of a cut must not change places.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from probe import Examples, Recipe
from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import global_stream, stream

Y = torch.arange(96) % 4
LEFT = torch.eye(6)[Y] * 2 + torch.randn(96, 6, generator=stream(0)) / 4
RIGHT = torch.randn(96, 6, generator=stream(1))
ONE = Examples({"left": LEFT, "right": RIGHT}, Y)
OTHER = Examples({"right": RIGHT, "left": LEFT}, Y)
HOW = RetrainSettings(recipe=Recipe(epochs=4, batch_size=16, learning_rate=0.01))


class Twice(nn.Module):
    """One layer for both inputs, so that either's value could serve for the other's."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.out = nn.Linear(6, 16), nn.Linear(32, 4)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.out(torch.cat([self.a(left).relu(), self.a(right).relu() / 10], 1))


@pytest.fixture(name="model")
def made() -> nn.Module:
    with global_stream(stream(0)):
        return Twice()


def predicted(model: nn.Module, features: Any, data: Examples[Any]) -> Tensor:
    [one] = retrain_each(model, features, data, data, 4, HOW)
    return one.predicted


def test_cuts_serve_data_with_their_names_in_another_order(model: nn.Module) -> None:
    expected = predicted(model, ["a#1"], ONE)
    for cut_of in (ONE, OTHER):
        cuts = cut_each(model, ["a#1"], cut_of.x)
        for data in (ONE, OTHER):
            assert torch.equal(predicted(model, cuts, data), expected)


@pytest.mark.parametrize(
    "x",
    [(LEFT, RIGHT), LEFT, {"left": LEFT}, {"left": LEFT, "up": RIGHT}],
    ids=["tuple", "tensor", "fewer", "others"],
)
def test_cuts_refuse_data_that_are_put_together_otherwise(model: nn.Module, x: Any) -> None:
    cuts = cut_each(model, ["a#1"], ONE.x)
    with pytest.raises(InputError, match=r"^the model was cut with x of \{left: .* cut it with"):
        predicted(model, cuts, Examples(x, Y))


@pytest.mark.parametrize("x", [(LEFT,), {"input": LEFT}], ids=["tuple", "mapping"])
def test_a_chain_takes_its_input_in_a_tuple_or_by_name(x: Any) -> None:
    with global_stream(stream(0)):
        chain = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    alone = predicted(chain, ["1"], Examples(LEFT, Y))
    assert torch.equal(predicted(chain, ["1"], Examples(x, Y)), alone)
