"""Permuted data: every session holds the same numbers in another order."""

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams.permuted import permutation, permuted

HALVES = ("train", "test")


def dataset(shape=(2, 3, 4), train=(0, 1, 2, 0, 1, 2), test=(2, 1, 0)):
    """Return data in which every element of every example is another number."""

    def half(labels, start):
        y = torch.tensor(labels)
        size = len(y) * int(np.prod(shape))
        return Examples(torch.arange(start, start + size).float().reshape(len(y), *shape), y)

    return Dataset(name="toy", classes=3, train=half(train, 0), test=half(test, 1000))


def moved(before, after):
    """Return where in `before` each element of `after` is, found by its value."""
    where = {value: at for at, value in enumerate(before.flatten().tolist())}
    return [where[value] for value in after.flatten().tolist()]


def test_every_session_permutes_all_its_examples_by_one_bijection():
    data = dataset()
    orders = []
    for task in permuted(data, sessions=6).tasks:
        found = {
            tuple(moved(before, after))
            for half in HALVES
            for before, after in zip(getattr(data, half).x, getattr(task, half).x, strict=True)
        }
        assert len(found) == 1, "train and test, all examples, alike"
        orders.append(found.pop())
    assert all(sorted(order) == list(range(24)) for order in orders)
    assert orders[0] == tuple(range(24))
    assert len(set(orders)) == 6
    assert orders[1:] == [tuple(permutation(24, t, 0).tolist()) for t in range(2, 7)]


def test_permutations_are_the_same_on_every_machine_and_leave_the_global_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert permutation(10, 2, 0).tolist() == [5, 0, 8, 7, 2, 6, 3, 4, 1, 9]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("sessions", [1, 0])
def test_fewer_than_two_sessions_are_refused(sessions):
    with pytest.raises(InputError, match=f"need 2 or more sessions, got {sessions}"):
        permuted(dataset(), sessions)


def test_inputs_that_have_one_order_only_are_refused():
    with pytest.raises(InputError, match="toy have 1 element"):
        permuted(dataset(shape=(1, 1)))
