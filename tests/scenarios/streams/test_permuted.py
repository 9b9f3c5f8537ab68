"""Permuted data: every session holds the same numbers in another order."""

import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams import permutation, permuted


def dataset(*shape):
    """Return data of three classes in which every element of every example is another number."""
    x = torch.arange(9 * torch.Size(shape).numel()).float().reshape(9, *shape)
    y = torch.arange(9) % 3
    halves = {"train": Examples(x[:6], y[:6]), "test": Examples(x[6:], y[6:])}
    return Dataset(name="toy", classes=3, **halves)


def test_every_session_permutes_all_its_examples_by_one_bijection():
    data = dataset(2, 3, 4)
    first, *others = permuted(data, sessions=6).tasks
    assert (first.train, first.test) == (data.train, data.test)
    orders = {task.index: permutation(24, task.index, 0).tolist() for task in others}
    assert {2, 3, 4, 5, 6} == orders.keys()
    assert len({tuple(order) for order in orders.values()}) == 5
    for task in others:
        assert sorted(orders[task.index]) == list(range(24))
        for half in ("train", "test"):
            before, after = getattr(data, half), getattr(task, half)
            assert after.y.tolist() == before.y.tolist()
            for one, moved in zip(before.x, after.x, strict=True):
                flat = one.flatten().tolist()
                assert moved.flatten().tolist() == [flat[at] for at in orders[task.index]]


def test_permutations_are_the_same_on_every_machine():
    assert permutation(10, 2, 0).tolist() == [5, 0, 8, 7, 2, 6, 3, 4, 1, 9]


def test_inputs_that_have_one_order_only_are_refused():
    with pytest.raises(InputError, match="toy have 1 element"):
        permuted(dataset(1, 1))
