"""Streams: every task has the examples of its classes, its transform or its data set."""

import pytest
import torch
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.examples import Examples, join
from probe.tasks import orders
from scenarios.data.datasets import Dataset
from scenarios.streams import (
    dataset_tasks,
    incremental,
    multimodal,
    permutation,
    permuted,
    relabeled,
    rotate,
    rotated,
    split_by_class,
)
from tests.scenarios.numbered_data import dataset, pairs

MIXED = [3, 1, 0, 2, 2, 5, 4, 1, 3, 0, 5, 4, 4, 1]
SIX = dataset(6, MIXED)


@given(tasks=st.integers(1, 9))
def test_rotations_are_every_task_first_once_and_the_cycle_never_broken(tasks):
    rotations = orders("rotate", tasks)
    assert list(rotations) == [str(k) for k in range(tasks)]
    for name, order in rotations.items():
        assert order == tuple((int(name) + step) % tasks for step in range(tasks))


@given(tasks=st.integers(1, 12), count=st.integers(1, 6))
def test_shuffles_are_permutations_and_the_same_each_time(tasks, count):
    shuffled = orders(f"shuffle:{count}", tasks)
    assert list(shuffled) == [str(k) for k in range(count)]
    assert all(sorted(order) == list(range(tasks)) for order in shuffled.values())
    more = orders(f"shuffle:{count + 1}", tasks)
    assert (
        {name: more[name] for name in shuffled}
        == shuffled
        == orders(f"shuffle:{count}", tasks)
    )


@pytest.mark.parametrize("listed", [[1, 2, 2], [0, 1, 2]])
def test_an_order_that_is_no_permutation_is_refused(listed):
    with pytest.raises(InputError, match="mine"):
        orders({"mine": listed}, 3)
    with pytest.raises(InputError, match=r"3 tasks.* got \["):
        split_by_class(SIX).reordered([task - 1 for task in listed])
    for rule in ("rotat", "shuffle:", "shuffle:0"):
        with pytest.raises(InputError, match=rule):
            orders(rule, 3)


STREAMS = [split_by_class(SIX, size) for size in (1, 3)]
STREAMS += [incremental(SIX, base) for base in (None, 2)]


@pytest.mark.parametrize("stream", STREAMS)
def test_tasks_are_disjoint_and_their_union_is_everything(stream):
    tasks = stream.tasks
    assert sum((task.classes for task in tasks), ()) == tuple(range(6))
    assert [task.index for task in tasks] == list(range(1, len(tasks) + 1))
    for split in ("train", "test"):
        parts = [getattr(task, split) for task in tasks]
        expected = pairs(getattr(SIX, split))
        assert sorted(pairs(join(parts))) == sorted(expected)
        for task, part in zip(tasks, parts, strict=True):
            assert set(part.y.tolist()) == set(task.classes)
            assert part.x.flatten().tolist() == sorted(part.x.flatten().tolist())


@given(order=st.permutations(range(3)))
def test_reordering_moves_the_same_tasks_and_twice_gives_the_same(order):
    base = split_by_class(SIX)
    first = base.reordered(order)
    second = base.reordered(order)
    assert all(a is b for a, b in zip(first.tasks, second.tasks, strict=True))
    assert [task.index for task in first.tasks] == [k + 1 for k in order]
    back = first.reordered([order.index(k) for k in range(3)])
    assert all(a is b for a, b in zip(back.tasks, base.tasks, strict=True))
    assert (first.name, first.kind, first.classes) == (
        base.name,
        base.kind,
        base.classes,
    )


IMAGES = torch.rand(5, 3, 7, 7, generator=torch.Generator().manual_seed(0))
SPLIT = Examples(IMAGES, torch.tensor([0, 1, 2, 1, 0]))
IMAGE_DATA = Dataset(
    name="toy",
    classes=3,
    train=SPLIT,
    test=SPLIT,
)


def test_an_oblong_image_is_rotated_not_sheared():
    """Half a turn fits; by a quarter only the middle rows and columns stay within."""
    oblong = IMAGES[:, :, :3]
    assert torch.allclose(
        rotate(oblong, 180), torch.rot90(oblong, 2, (2, 3)), atol=1e-5
    )
    quarter = rotate(oblong, 90)
    expected = torch.rot90(oblong[..., 2:5], 1, (2, 3))
    assert torch.allclose(quarter[..., 2:5], expected, atol=1e-5)
    assert quarter[..., :2].abs().max() < 1e-5


def test_by_0_images_are_the_data_and_others_have_their_labels():
    first, second = rotated(IMAGE_DATA, (0, 30)).tasks
    assert (first.train.x, first.test.x) == (IMAGES, IMAGES)
    assert [first.name, second.name] == ["0°", "30°"]
    assert torch.equal(second.train.x, rotate(IMAGES, 30))
    for task in (first, second):
        assert (task.classes, task.test.y.tolist()) == ((0, 1, 2), SPLIT.y.tolist())


def test_relabeled_tasks_are_those_of_a_split_with_labels_within_each():
    data = dataset(6, [3, 1, 0, 2, 2, 5, 4, 1])
    split = split_by_class(data, 3).tasks
    for task, plain in zip(relabeled(data, 3).tasks, split, strict=True):
        assert torch.equal(task.train.x, plain.train.x)
        assert task.train.y.tolist() == [label % 3 for label in plain.train.y.tolist()]
        assert (task.name, task.classes) == (plain.name, (0, 1, 2))


def large(name, shape, classes=3, each=3):
    """Return data in which every element of every example is another number, none zero."""
    y = torch.arange(classes).repeat(each)
    x = torch.arange(1.0, 1 + len(y) * torch.Size(shape).numel()).reshape(-1, *shape)
    return Dataset(
        name=name,
        classes=classes,
        train=Examples(x, y),
        test=Examples(-x, y),
    )


@pytest.mark.parametrize("seed", [0, 3])
def test_every_session_permutes_all_its_examples_by_one_bijection(seed):
    data = large("toy", (2, 3, 4))
    first, *others = permuted(data, sessions=6, seed=seed).tasks
    assert (first.train, first.test) == (data.train, data.test)
    order_of = {
        task.index: permutation(24, task.index, seed).tolist() for task in others
    }
    assert {2, 3, 4, 5, 6} == order_of.keys()
    assert len(set(map(tuple, order_of.values()))) == 5
    for task in others:
        assert sorted(order_of[task.index]) == list(range(24))
        for split in ("train", "test"):
            before = getattr(data, split)
            after = getattr(task, split)
            assert after.y.tolist() == before.y.tolist()
            assert torch.equal(
                after.x.flatten(1), before.x.flatten(1)[:, order_of[task.index]]
            )


def test_permutations_are_the_same_on_every_machine():
    assert permutation(10, 2, 0).tolist() == [5, 0, 8, 7, 2, 6, 3, 4, 1, 9]


WIDE = large("image", (1, 3, 4), each=2)
NARROW = large(
    "sound",
    (5,),
    classes=2,
    each=2,
)


@pytest.mark.parametrize(("first", "second"), [(WIDE, NARROW), (NARROW, WIDE)])
def test_each_task_is_its_data_set_flattened_and_zeros_to_the_larger_width(
    first, second
):
    scenario = multimodal(first, second)
    assert [task.name for task in scenario.tasks] == [first.name, second.name]
    assert [task.index for task in scenario.tasks] == [1, 2]
    start = 0
    for task, data in zip(scenario.tasks, (first, second), strict=True):
        assert task.classes == tuple(range(start, start + data.classes))
        for split in ("train", "test"):
            x = getattr(task, split).x
            expected = getattr(data, split).x.flatten(1)
            assert x.shape == (len(expected), 12)
            assert torch.equal(x[:, : expected.shape[1]], expected)
            assert not x[:, expected.shape[1] :].any()
            assert torch.equal(getattr(task, split).y, getattr(data, split).y + start)
        start += data.classes


@pytest.mark.parametrize(
    ("stream", "value"),
    [
        (lambda: split_by_class(SIX, 4), "tasks of 4"),
        (lambda: split_by_class(SIX, 12), "tasks of 12"),
        (lambda: split_by_class(dataset(6, [0, 1, 2, 3])), "'4-5'"),
        (lambda: incremental(dataset(4, range(4)), 4), "the 4 classes"),
        (lambda: incremental(dataset(4, range(4)), 0), "of 0"),
        (lambda: incremental(dataset(1, [0])), "the 1 classes"),
        (lambda: rotated(dataset(2, [0, 1]), (0, 90)), "toy"),
        (lambda: dataset_tasks(IMAGE_DATA, "domain-incremental"), "toy"),
        (lambda: permuted(large("toy", (1, 1))), "1 element"),
        (lambda: multimodal(WIDE, large("image", (5,), classes=2)), "image"),
    ],
)
def test_data_that_do_not_suit_a_stream_are_refused(stream, value):
    with pytest.raises(InputError, match=value):
        stream()
