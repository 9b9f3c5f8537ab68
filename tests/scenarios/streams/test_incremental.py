"""Incremental class: half of the classes, then one after the other."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset, load
from scenarios.streams.split import incremental


def dataset(classes, each=2):
    """Return `each` examples per class, whose only input is their number."""
    y = torch.arange(classes).repeat(each)
    half = Examples(torch.arange(len(y)).float().reshape(-1, 1), y)
    return Dataset(name="toy", classes=classes, train=half, test=half)


@pytest.mark.parametrize(
    ("classes", "base", "expected"),
    [
        (10, None, [(0, 1, 2, 3, 4), (5,), (6,), (7,), (8,), (9,)]),
        (5, None, [(0, 1), (2,), (3,), (4,)]),
        (2, None, [(0,), (1,)]),
        (5, 4, [(0, 1, 2, 3), (4,)]),
        (3, 1, [(0,), (1,), (2,)]),
    ],
)
def test_the_classes_of_the_sessions(classes, base, expected):
    scenario = incremental(dataset(classes), base)
    assert (scenario.name, scenario.kind, scenario.classes) == ("toy", "incremental", classes)
    assert [task.classes for task in scenario.tasks] == expected
    assert [task.index for task in scenario.tasks] == list(range(1, len(expected) + 1))


def test_sessions_are_called_after_their_classes():
    names = [task.name for task in incremental(load("digits")).tasks]
    assert names == ["0-4", "5", "6", "7", "8", "9"]


@given(classes=st.integers(2, 12), data=st.data())
def test_every_example_is_in_the_session_of_its_class_and_in_no_other(classes, data):
    base = data.draw(st.integers(1, classes - 1))
    given_data = dataset(classes)
    tasks = incremental(given_data, base).tasks
    assert len(tasks) == 1 + classes - base
    for half in ("train", "test"):
        everything = getattr(given_data, half)
        seen = [x for task in tasks for x in getattr(task, half).x.flatten().tolist()]
        assert sorted(seen) == everything.x.flatten().tolist()
        for place, task in enumerate(tasks):
            home = {max(0, label - base + 1) for label in getattr(task, half).y.tolist()}
            assert home == {place}


def test_limits_are_per_class_and_of_their_own_half():
    tasks = incremental(dataset(4, each=3), train_limit=1, test_limit=2).tasks
    assert [len(task.train) for task in tasks] == [2, 1, 1]
    assert [len(task.test) for task in tasks] == [4, 2, 2]


@pytest.mark.parametrize(("classes", "base"), [(4, 4), (4, 5), (4, 0), (4, -1), (1, None), (1, 1)])
def test_a_base_session_of_nothing_or_everything_is_refused(classes, base):
    with pytest.raises(InputError, match=f"of the {classes} classes of toy leaves nothing"):
        incremental(dataset(classes), base)
