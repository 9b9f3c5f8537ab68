"""`Examples.of`: what datasets and loaders give is what plain stacking gives."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
    get_worker_info,
)

from probe.batch import tensors
from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream

N = 23
X = torch.randn(N, 2, 3, generator=stream(0, "x"))
IDS = torch.randint(9, (N, 4), generator=stream(0, "ids"))
Y = torch.randint(3, (N,), generator=stream(0, "y"))


class Pairs(Dataset):
    """Map-style: N items, made by a function of their number."""

    def __init__(self, item):
        self.item = item

    def __len__(self):
        return N

    def __getitem__(self, at):
        return self.item(at)


class Flow(IterableDataset):
    def __init__(self, item):
        self.item = item

    def __iter__(self):
        return map(self.item, range(N))


ITEMS = {
    "a tensor": (lambda i: (X[i], Y[i]), X),
    "arrays": (lambda i: [X[i].numpy(), np.uint8(Y[i])], X),
    "a list": (lambda i: ([IDS[i], X[i]], int(Y[i])), (IDS, X)),
    "a mapping": (lambda i: ({"a": X[i], "b": IDS[i]}, int(Y[i])), {"a": X, "b": IDS}),
    "a label among columns": (
        lambda i: {
            "b": IDS[i],
            "label": Y[i],
            "a": X[i],
        },
        {"b": IDS, "a": X},
    ),
    "labels among columns": (
        lambda i: {"b": IDS[i, 0], "labels": int(Y[i])},
        {"b": IDS[:, 0]},
    ),
}


def assert_same(
    got,
    x,
    y,
):
    assert (
        type(got.x) is type(x)
        if not isinstance(x, Tensor)
        else isinstance(got.x, Tensor)
    )
    if isinstance(x, dict):
        assert list(got.x) == list(x)
    for one, other in zip(tensors(got.x), tensors(x), strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    assert got.y.dtype == torch.int64
    assert torch.equal(got.y, y)


@pytest.mark.parametrize(("item", "x"), ITEMS.values(), ids=ITEMS)
def test_any_source_gives_what_plain_stacking_gives(item, x):
    sources = {
        "dataset": Pairs(item),
        "iterable dataset": Flow(item),
        "generator": map(item, range(N)),
        "loader": DataLoader(Pairs(item), batch_size=5),
        "loader of an iterable dataset": DataLoader(Flow(item), batch_size=5),
        "loader without batches": DataLoader(Pairs(item), batch_size=None),
        "loader with batches of its own": DataLoader(
            Pairs(item),
            batch_sampler=BatchSampler(SequentialSampler(range(N)), 4, False),
        ),
    }
    for source in sources.values():
        assert_same(Examples.of(source), x, Y)
    backwards = Subset(Pairs(item), list(reversed(range(N))))
    assert torch.equal(Examples.of(backwards).y, Y.flip(0))


@given(
    st.integers(1, 30), st.integers(1, 9), st.booleans(), st.none() | st.integers(1, 40)
)
def test_every_batch_size_and_limit(
    n,
    size,
    drop,
    limit,
):
    x = torch.randn(n, 2)
    y = torch.arange(n)
    loader = DataLoader(TensorDataset(x, y), batch_size=size, drop_last=drop)
    expected = min(n, limit or n)
    got = Examples.of(loader, limit)
    assert_same(got, x[:expected], y[:expected])
    # Nothing is held but the examples themselves.
    assert got.x.untyped_storage().nbytes() == expected * 8


@pytest.mark.parametrize("limit", [None, 7])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_loader_does_with_examples_is_done(limit, workers):
    def collated(items):
        x, y = default_collate(items)
        worker = get_worker_info()
        return 2 * x + (worker.dataset.shift if worker else 0), y

    def begun(_):
        get_worker_info().dataset.shift = 1

    loader = DataLoader(
        TensorDataset(X, Y),
        batch_size=5,
        shuffle=True,
        collate_fn=collated,
        num_workers=workers,
        worker_init_fn=begun,
        multiprocessing_context="fork" if workers else None,
    )
    x = Examples.of(loader, limit).x
    assert len(x) == (limit or N)
    assert torch.isin(x, 2 * X + bool(workers)).all()


def test_columns_are_chosen_by_name():
    items = [
        {
            "a": X[i],
            "b": IDS[i],
            "text": "words",
            "kind": Y[i],
        }
        for i in range(N)
    ]
    chosen = Examples.of(items, label="kind", columns=["b", "a"])
    assert_same(chosen, {"b": IDS, "a": X}, Y)
    assert_same(Examples.of(items, label="kind", columns="a"), X, Y)
    pairs = [({"a": X[i], "text": "words"}, Y[i]) for i in range(N)]
    assert_same(Examples.of(pairs, columns="a"), X, Y)


class OfAvalanche(Pairs):
    """Items (x, y, task label), as a task-aware dataset of Avalanche gives them."""

    targets = Y.tolist()
    targets_task_labels = [7] * N

    def __init__(self):
        super().__init__(lambda i: (X[i], int(Y[i]), 7))


def test_task_labels_are_left_out():
    for data in (
        OfAvalanche(),
        Subset(OfAvalanche(), range(N)),
        DataLoader(OfAvalanche()),
    ):
        assert_same(Examples.of(data), X, Y)
    with pytest.raises(InputError, match="a tuple of 3 is neither a pair"):
        Examples.of(Pairs(OfAvalanche().item))
