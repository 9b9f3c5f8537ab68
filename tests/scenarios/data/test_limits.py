"""Fewer examples, and a validation split: of every class, and nothing of it is trained on."""

import pytest
from hypothesis import given, strategies as st

from probe.errors import InputError
from scenarios.data.datasets import held_out, limited
from tests.scenarios.streams.numbered import dataset, numbered, pairs


@given(labels=st.lists(st.integers(0, 3), min_size=1), limit=st.integers(1, 4))
def test_a_limit_keeps_the_first_of_each_class_in_their_order(labels: list[int], limit: int):
    kept, seen = [], [0] * 4
    for number, label in enumerate(labels):
        seen[label] += 1
        if seen[label] <= limit:
            kept.append((float(number), label))
    assert pairs(limited(dataset(4, labels), train=limit).train) == kept


def test_a_limit_is_of_its_own_half_alone() -> None:
    data = dataset(3, [0, 1, 2] * 3, [2, 1, 0] * 2)
    assert limited(data).train is data.train
    train, test = limited(data, train=1), limited(data, test=1)
    assert (train.train.y.tolist(), test.test.y.tolist()) == ([0, 1, 2], [2, 1, 0])
    assert train.test is data.test
    assert test.train is data.train


@given(labels=st.permutations([0] * 4 + [1] * 5 + [2] * 7 + [0, 1, 2]), count=st.integers(1, 4))
def test_what_is_held_out_is_the_last_of_each_class_and_the_rest_is_trained_on(
    labels: list[int], count: int
) -> None:
    """Against a plain loop; both halves keep the order of the data. The test data are in none."""
    split = held_out(dataset(3, labels), count)
    kept, held = [], []
    for number, pair in enumerate(pairs(numbered(labels))):
        after = sum(label == pair[1] for label in labels[number + 1 :])
        (held if after < count else kept).append(pair)
    assert (pairs(split.train), pairs(split.test)) == (kept, held)


def test_all_there_is_cannot_be_held_out() -> None:
    with pytest.raises(InputError, match=r"2 training examples of class 1: hold .* not 2"):
        held_out(dataset(2, [0] * 9 + [1, 1]), 2)
