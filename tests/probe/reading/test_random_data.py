"""Data that are shuffled, augmented or split among workers give the same examples each time."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from probe.errors import InputError
from probe.examples import Examples

X, Y = torch.randn(41, 3, generator=torch.Generator().manual_seed(0)), torch.arange(41) % 4


class Drawing(Dataset[tuple[Tensor, int]]):
    def __init__(self, own: bool) -> None:
        self.own = np.random.default_rng() if own else None

    def __len__(self) -> int:
        return len(Y)

    def __getitem__(self, k: int) -> tuple[Tensor, int]:
        if self.own:
            return X[k] + self.own.random(), int(Y[k])
        noise = random.random() + np.random.rand()  # noqa: NPY002
        return X[k] + noise + torch.rand(()), int(Y[k])


class Stream(IterableDataset[tuple[Tensor, int]]):
    def __iter__(self) -> Iterator[tuple[Tensor, int]]:
        return iter([(X[k], int(Y[k])) for k in range(len(Y))])


def test_shuffled_incomplete_or_shared_loaders_give_each_example_once() -> None:
    data = TensorDataset(X, Y)
    shuffled = DataLoader(data, 8, shuffle=True, generator=torch.Generator())
    incomplete = DataLoader(data, 8, shuffle=True, drop_last=True, num_workers=2)
    shared = DataLoader(Stream(), 8, num_workers=2, drop_last=True)
    for loader in (shuffled, incomplete, shared, shuffled):
        examples = Examples.of(loader)
        assert torch.equal(examples.x, X)
        assert torch.equal(examples.y, Y)
    shared.__class__ = type("Shard", (DataLoader,), {})  # code of its own, which is run as it is
    with pytest.raises(InputError, match="num_workers=0"):
        Examples.of(shared)


def test_augmented_data_are_the_same_each_time_and_say_so() -> None:
    readings = []
    for seed in range(2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        with pytest.warns(UserWarning, match="augmented or sampled at random"):
            readings.append(Examples.of(DataLoader(Drawing(False), 8 + seed)).x)
    assert torch.equal(*readings)
    assert not torch.equal(readings[0], X)
    with pytest.raises(InputError, match="each reading of the data gives other examples"):
        Examples.of(Drawing(True))
