"""Rows that are asked for by number: tensors, and whatever else gives them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import fit
from probe.training.recipe import Recipe
from tests.laws.counting import evaluate


def data(n: int) -> Examples:
    draw = stream(0, "rows")
    return Examples(torch.randn(n, 4, generator=draw), torch.randint(3, (n,), generator=draw))


class Served:
    """Labeled rows that are no tensor: made when asked for, two values of each example."""

    def __init__(self, examples: Examples) -> None:
        self.x, self.y, self._kept = self, examples.y, examples.x

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        rows = self._kept[indices]
        return rows[:, :3], rows[:, 3:]


class Joins(nn.Module):
    """Takes a tuple as its one argument, and writes into it."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, value: tuple[Tensor, Tensor]) -> Tensor:
        value[0].mul_(2)
        return self.head(torch.cat(value, 1))


def test_any_labelled_rows_train_and_evaluate_as_tensors_do() -> None:
    """The same bits as on a tensor of the joined values; no row is changed."""
    examples = data(30)
    before = examples.x.clone()
    served, plain = Joins(), nn.Linear(4, 3)
    plain.load_state_dict(served.head.state_dict())
    doubled = Examples(examples.x * torch.tensor([2.0, 2, 2, 1]), examples.y)
    recipe = Recipe(epochs=2, batch_size=8)
    fit(served, Served(examples), recipe, stream(0))
    fit(plain, doubled, recipe, stream(0))
    assert torch.equal(served.head.weight, plain.weight)
    assert torch.equal(examples.x, before)
    counts = evaluate(served, Served(examples), 3), evaluate(plain, doubled, 3)
    assert np.array_equal(counts[0].table, counts[1].table)
