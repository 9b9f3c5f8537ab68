"""Data cut into tasks of disjoint classes, the tasks themselves, and the orders of a study."""

import pytest
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.orders import orders
from scenarios.streams.split import incremental, split_by_class
from tests.scenarios.streams.numbered import dataset, pairs

MIXED = [3, 1, 0, 2, 2, 5, 4, 1, 3, 0, 5, 4, 4, 1]
SIX = dataset(6, MIXED)


@given(tasks=st.integers(1, 9))
def test_rotations_are_every_task_first_once_and_the_cycle_never_broken(tasks):
    rotated = orders("rotate", tasks)
    assert list(rotated) == [str(k) for k in range(tasks)]
    for name, order in rotated.items():
        assert order == tuple((int(name) + step) % tasks for step in range(tasks))


@given(tasks=st.integers(1, 12), count=st.integers(1, 6))
def test_shuffles_are_permutations_and_the_same_each_time(tasks, count):
    shuffled = orders(f"shuffle:{count}", tasks)
    assert list(shuffled) == [str(k) for k in range(count)]
    assert all(sorted(order) == list(range(tasks)) for order in shuffled.values())
    assert shuffled == orders(f"shuffle:{count}", tasks)
    more = orders(f"shuffle:{count + 1}", tasks)
    assert {name: more[name] for name in shuffled} == shuffled


@pytest.mark.parametrize("listed", [[1, 2, 2], [0, 1, 2]])
def test_an_explicit_order_that_is_no_permutation_is_refused(listed):
    with pytest.raises(InputError, match="order 'mine' must name each task from 1 to 3 once"):
        orders({"mine": listed}, 3)
    with pytest.raises(InputError, match=r"names each once"):
        split_by_class(SIX).reordered([task - 1 for task in listed])


@pytest.mark.parametrize("rule", ["rotat", "shuffle:", "shuffle:0"])
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises(InputError, match="give rotate, none or shuffle:N"):
        orders(rule, 3)


STREAMS = {
    **{f"of {size}": split_by_class(SIX, size) for size in (1, 3)},
    **{f"base {base}": incremental(SIX, base) for base in (None, 2)},
}


@pytest.mark.parametrize("name", STREAMS)
def test_tasks_are_disjoint_and_their_union_is_everything(name):
    tasks = STREAMS[name].tasks
    assert [c for task in tasks for c in task.classes] == list(range(6))
    assert [task.index for task in tasks] == list(range(1, len(tasks) + 1))
    for half in ("train", "test"):
        parts = [getattr(task, half) for task in tasks]
        every = sorted(pair for part in parts for pair in pairs(part))
        assert every == sorted(pairs(getattr(SIX, half)))
        for task, part in zip(tasks, parts, strict=True):
            assert set(part.y.tolist()) == set(task.classes)
            assert part.x.flatten().tolist() == sorted(part.x.flatten().tolist())


@pytest.mark.parametrize("size", [4, 12])
def test_classes_that_cannot_be_shared_out_are_refused(size):
    with pytest.raises(InputError, match=f"6 classes.* tasks of {size}: choose a divisor of 6"):
        split_by_class(SIX, size)


@pytest.mark.parametrize(("classes", "base"), [(4, 4), (4, 0), (1, None)])
def test_a_base_session_of_nothing_or_everything_is_refused(classes, base):
    with pytest.raises(InputError, match=f"of the {classes} classes of toy leaves nothing"):
        incremental(dataset(classes, range(classes)), base)


@given(order=st.permutations(range(3)))
def test_reordering_moves_the_same_tasks_and_twice_gives_the_same(order):
    base = split_by_class(SIX)
    first, second = base.reordered(order), base.reordered(order)
    assert all(a is b for a, b in zip(first.tasks, second.tasks, strict=True))
    assert [task.index for task in first.tasks] == [k + 1 for k in order]
    back = first.reordered([order.index(k) for k in range(3)])
    assert all(a is b for a, b in zip(back.tasks, base.tasks, strict=True))
    assert (first.name, first.kind, first.classes) == (base.name, base.kind, base.classes)


@pytest.mark.parametrize(("half", "label"), [("training", 6), ("test", -1)])
def test_labels_outside_the_classes_are_refused_not_dropped(half, label):
    halves = ([*MIXED, label] if half == name else MIXED for name in ("training", "test"))
    with pytest.raises(InputError, match=rf"the {half} data of toy has labels \[{label}\]"):
        dataset(6, *halves)


def test_a_task_without_examples_is_refused():
    with pytest.raises(InputError, match="the training data of task '4-5' holds no examples"):
        split_by_class(dataset(6, [0, 1, 2, 3]))
