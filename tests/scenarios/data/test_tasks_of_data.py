"""Data that bring their tasks: functions that return a list, and feature files."""

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from probe.extensions import DataEntry
from scenarios.data.datasets import (
    Dataset,
    Location,
    held_out,
    limited,
    load,
    read_user_data,
)
from scenarios.data.feature_files import write_features

X = torch.arange(36.0).view(12, 3)
Y = torch.tensor([0, 1] * 6)
PAIRS = [
    ((X[k:8:2], Y[k // 2 : k // 2 + 4]), (X[8 + k :: 2], Y[8 + k :: 2])) for k in (0, 1)
]


def together(index, tags):
    """Return the training (0) or the test (1) examples of both tasks, with their tasks."""
    x = torch.cat([pair[index][0] for pair in PAIRS])
    y = torch.cat([pair[index][1] for pair in PAIRS])
    return Examples(x, y, torch.tensor(tags))


TRAIN = together(0, [0] * 4 + [1] * 4)
TEST = together(1, [0, 0, 1, 1])


def own(given, class_order=()):
    entry = DataEntry(name="mine", load=lambda: given, class_order=class_order)
    return read_user_data(entry)


def same(found, given):
    return all(
        torch.equal(vars(found)[name], each) for name, each in vars(given).items()
    )


def site(path, half_of=None, **changes):
    (x_train, y_train), (x_test, y_test) = (
        PAIRS[0] if half_of is None else PAIRS[half_of]
    )
    arrays = {
        "x_train": x_train,
        "y_train": y_train,
        "x_test": x_test,
        "y_test": y_test,
    }
    np.savez(path, **(arrays | changes))


def test_a_list_of_pairs_is_the_examples_with_their_tasks():
    listed = [(Examples(*train), Examples(*test)) for train, test in PAIRS]
    halves = tuple(map(list, zip(*listed, strict=True)))
    for given in (PAIRS, listed, (TRAIN, TEST), halves):
        train, test = own(given)
        assert same(train, TRAIN), given
        assert same(test, TEST)
    # Of two tasks the brackets alone tell pairs from halves.
    for given in (tuple(listed), list(map(list, listed)), list(halves)):
        with pytest.raises(InputError, match=r"give a list of those|a list of tuples"):
            own(given)


def test_an_order_of_classes_keeps_the_tasks():
    train, _ = own((TRAIN, TEST), class_order=(1, 0))
    assert torch.equal(train.y, 1 - TRAIN.y)
    assert torch.equal(train.task, TRAIN.task)


def test_limits_are_of_each_class_of_each_task():
    data = Dataset(
        name="toy",
        classes=2,
        train=TRAIN,
        test=TEST,
    )
    for part in (
        limited(data, train=1).train,
        held_out(data, 1).test,
        held_out(data, 1).train,
    ):
        found = sorted(zip(part.task.tolist(), part.y.tolist(), strict=True))
        assert found == [
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
        ]
    with pytest.raises(InputError, match="2 examples of class 0, not 2"):
        held_out(data, 2)


@pytest.mark.parametrize("first", [0, 1])
def test_a_file_of_each_task_is_the_list(tmp_path, first):
    (tmp_path / "sites").mkdir()
    for k in (0, 1):
        site(tmp_path / "sites" / f"{first + k}.npz", k)
    data = load("sites/{task}.npz", Location(tmp_path))
    assert (data.name, data.classes, data.has_tasks) == ("sites", 2, True)
    assert same(data.train, TRAIN)
    assert same(data.test, TEST)


def test_one_file_has_the_numbers_of_its_examples(tmp_path):
    """Classes need not be in every task."""
    train, test = (Examples(each.x, each.y, each.y) for each in (TRAIN, TEST))
    write_features(tmp_path / "a.npz", train, test)
    data = load(str(tmp_path / "a.npz"))
    assert same(data.train, train)
    assert same(data.test, test)
