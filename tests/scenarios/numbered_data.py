"""Data whose every example can be told again: its only input is its number."""

from collections.abc import Sequence

import torch

from probe.examples import Examples
from scenarios.data.datasets import Dataset


def numbered(labels: Sequence[int]) -> Examples:
    y = torch.tensor(labels)
    return Examples(torch.arange(len(y), dtype=torch.float32).reshape(-1, 1), y)


def dataset(
    classes: int, train: Sequence[int], test: Sequence[int] | None = None
) -> Dataset:
    test = range(classes) if test is None else test
    return Dataset(
        name="toy", classes=classes, train=numbered(train), test=numbered(test)
    )


def pairs(examples: Examples) -> list[tuple[float, int]]:
    return list(zip(examples.x.flatten().tolist(), examples.y.tolist(), strict=True))
