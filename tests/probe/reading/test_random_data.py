"""Data that are shuffled, augmented or split among workers give the same examples each time."""

import random

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

from probe.errors import InputError
from probe.examples import Examples

X = torch.randn(41, 3, generator=torch.Generator().manual_seed(0))
Y = torch.arange(41) % 4


class Drawing(Dataset[tuple[Tensor, int]]):
    def __init__(self, own):
        self.own = np.random.default_rng() if own else None

    def __len__(self):
        return len(Y)

    def __getitem__(self, k):
        if self.own:
            return X[k] + self.own.random(), int(Y[k])
        noise = random.random() + np.random.rand()  # noqa: NPY002
        return X[k] + noise + torch.rand(()), int(Y[k])


class Stream(IterableDataset[tuple[Tensor, int]]):
    def __init__(self, data=None):
        self.data = data or TensorDataset(X, Y)

    def __iter__(self):
        return ((x, int(y)) for x, y in (self.data[k] for k in range(len(Y))))


def test_shuffled_incomplete_or_shared_loaders_give_each_example_once():
    data = TensorDataset(X, Y)
    shuffled = DataLoader(
        data,
        8,
        shuffle=True,
        generator=torch.Generator(),
    )
    incomplete = DataLoader(
        data,
        8,
        shuffle=True,
        drop_last=True,
        num_workers=2,
    )
    shared = DataLoader(
        Stream(),
        8,
        num_workers=2,
        drop_last=True,
    )
    for loader in (shuffled, incomplete, shared, shuffled):
        examples = Examples.of(loader)
        assert torch.equal(examples.x, X)
        assert torch.equal(examples.y, Y)
    shared.__class__ = type(
        "Shard", (DataLoader,), {}
    )  # code of its own, which is run as it is
    with pytest.raises(InputError, match="num_workers=0"):
        Examples.of(shared)


def test_augmented_data_are_the_same_each_time_and_say_so():
    readings = []
    for seed in range(2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        with pytest.warns(UserWarning, match="augmented or sampled at random"):
            readings.append(Examples.of(DataLoader(Drawing(False), 8 + seed)).x)
        with pytest.warns(UserWarning, match="augmented or sampled at random"):
            readings.append(Examples.of(Stream(Drawing(False))).x)
    assert torch.equal(readings[0], readings[2])
    assert torch.equal(readings[1], readings[3])
    assert not torch.equal(readings[0], X)
    late = ConcatDataset([TensorDataset(X, Y), Drawing(True)])
    loader = DataLoader(Stream(Drawing(True)), 8)
    for data in (Drawing(True), Stream(Drawing(True)), loader, late):
        with pytest.raises(
            InputError, match="each reading of the data gives other examples"
        ):
            Examples.of(data)


@pytest.mark.parametrize(
    ("sampler", "drawn"),
    [
        (
            BatchSampler(SequentialSampler(X), 10, drop_last=True),
            "40 examples of a dataset of 41",
        ),
        (BatchSampler([3, 1], 2, drop_last=False), "2 examples of a dataset of 41"),
        (
            BatchSampler(RandomSampler(X, replacement=True), 7, drop_last=False),
            "41 examples of a dataset of 41, drawn with replacement",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:the data are augmented or sampled")
def test_a_loader_that_leaves_out_examples_says_so(sampler, drawn):
    with pytest.warns(UserWarning, match=drawn):
        Examples.of(DataLoader(TensorDataset(X, Y), batch_sampler=sampler))


def test_a_limit_takes_a_sample_of_what_is_shuffled_and_else_the_first():
    data = TensorDataset(X, Y)
    shuffled = [
        DataLoader(
            data,
            8,
            shuffle=True,
            generator=torch.Generator(),
        )
        for _ in range(2)
    ]
    one, other = (Examples.of(loader, limit=20).x for loader in shuffled)
    assert torch.equal(one, other)
    assert not torch.equal(one, X[:20])
    assert len(one.unique(dim=0)) == 20
    assert torch.equal(
        Examples.of(DataLoader(data, 8, drop_last=True), limit=20).x, X[:20]
    )
