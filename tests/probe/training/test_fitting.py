"""The batches of the training loop."""

from __future__ import annotations

from itertools import chain

import pytest
import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import Objective, fit
from probe.training.recipe import Recipe


class Visits(Objective):
    """Notes which examples each batch holds (their first input is their number)."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        self.batches.append(x[:, 0].int().tolist())
        return x, y


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [(10, 4, [4, 4, 2]), (9, 4, [4, 5]), (8, 4, [4, 4]), (3, 4, [3]), (1, 4, [1]), (3, 1, [1] * 3)],
)
def test_every_epoch_visits_each_example_once(n: int, size: int, expected: list[int]) -> None:
    """In a new order each time; a last batch of one joins the one before it."""
    x = torch.arange(n).float()[:, None].repeat(1, 4)
    spy = Visits()
    recipe = Recipe(epochs=2, batch_size=size)
    fit(nn.Linear(4, 3), Examples(x, torch.zeros(n).long()), recipe, stream(0), spy)
    half = len(expected)
    assert [len(batch) for batch in spy.batches] == expected * 2
    first, second = (list(chain(*part)) for part in (spy.batches[:half], spy.batches[half:]))
    assert sorted(first) == sorted(second) == list(range(n))
    assert n < 8 or first != second
