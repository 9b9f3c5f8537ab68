"""A validation split: of the training data, of every class, and nothing of it is trained on."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset, Location, held_out, load
from scenarios.study.scenario_spec import SplitSpec


def numbered(labels: list[int]) -> Examples:
    """Return examples whose only input is their number, so that each can be told again."""
    y = torch.tensor(labels)
    return Examples(torch.arange(len(y), dtype=torch.float32).reshape(-1, 1), y)


def dataset(labels: list[int], classes: int) -> Dataset:
    test = Examples(torch.full((classes, 1), -1.0), torch.arange(classes))
    return Dataset(name="toy", classes=classes, train=numbered(labels), test=test)


def pairs(half: Examples) -> list[tuple[float, int]]:
    return list(zip(half.x.flatten().tolist(), half.y.tolist(), strict=True))


def tasks_of(**given: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return train and test inputs of the digits by task, under these settings."""
    scenario = SplitSpec(data="digits", **given).scenario(Location())
    halves = ({t.name: getattr(t, half).x for t in scenario.tasks} for half in ("train", "test"))
    return next(halves), next(halves)


def rows(x: torch.Tensor) -> set[tuple[float, ...]]:
    return {tuple(row) for row in x.flatten(1).tolist()}


@given(labels=st.permutations([0] * 4 + [1] * 5 + [2] * 7 + [0, 1, 2]), count=st.integers(1, 4))
def test_it_is_the_last_of_each_class_and_the_rest_is_the_training_data(
    labels: list[int], count: int
) -> None:
    """Against a plain loop; both halves keep the order of the data."""
    split = held_out(dataset(labels, 3), count)
    whole, kept, held = pairs(numbered(labels)), [], []
    for place, pair in enumerate(whole):
        after = sum(label == pair[1] for label in labels[place + 1 :])
        (held if after < count else kept).append(pair)
    assert (pairs(split.train), pairs(split.test)) == (kept, held)
    assert torch.bincount(split.test.y).tolist() == [count] * 3


def test_the_test_data_are_in_neither_half() -> None:
    split = held_out(dataset([0, 1, 0, 1], 2), 1)
    assert -1.0 not in [x for x, _ in pairs(split.train) + pairs(split.test)]


@pytest.mark.parametrize("count", [2, 3])
def test_a_class_that_would_have_nothing_left_to_train_on_is_refused(count: int) -> None:
    assert len(held_out(dataset([0, 0, 0, 1, 1], 2), 1).train) == 3
    with pytest.raises(InputError, match=f"2 training examples of class 1: hold .* not {count}"):
        held_out(dataset([0] * 9 + [1, 1], 2), count)


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_to_hold_out_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"1 or more training examples per class, not {count}"):
        held_out(dataset([0, 0], 1), count)


def test_a_study_with_validation_tests_on_training_data_that_it_does_not_train_on() -> None:
    """The negative control: without it, it tests on the test data."""
    digits = load("digits")
    train, test = tasks_of(validation=15, train_limit=100)
    every_train = torch.cat(list(train.values()))
    every_test = torch.cat(list(test.values()))
    assert (len(every_train), len(every_test)) == (1000, 150)
    assert not rows(every_train) & rows(every_test)
    assert rows(every_test) <= rows(digits.train.x)
    assert not rows(every_test) & rows(digits.test.x)
    _, plain = tasks_of(train_limit=100)
    assert rows(torch.cat(list(plain.values()))) == rows(digits.test.x)


def test_a_train_limit_and_a_validation_split_do_not_meet() -> None:
    """The limit takes the first of what is left, however large it is."""
    train, test = tasks_of(validation=15, train_limit=10**6)
    digits = load("digits").train
    whole = rows(torch.cat([*train.values(), *test.values()]))
    assert whole == rows(digits.x)
    assert sum(map(len, [*train.values(), *test.values()])) == len(digits)


def test_a_test_limit_is_of_what_is_tested_on() -> None:
    _, plain = tasks_of(test_limit=4)
    _, held = tasks_of(test_limit=4, validation=15)
    assert {len(x) for x in [*plain.values(), *held.values()]} == {8}
    digits = load("digits")
    for tests, data in ((plain, digits.test), (held, digits.train)):
        assert rows(torch.cat(list(tests.values()))) <= rows(data.x)


def test_a_split_that_a_data_set_cannot_give_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"digits has 14\d training examples of class 0: hold out"):
        tasks_of(validation=150)
