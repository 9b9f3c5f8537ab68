"""Streams of disjoint classes: equal tasks, or a base session and then class by class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams.task import Scenario, Task


def split_by_class(
    data: Dataset,
    classes_per_task: int = 2,
    train_limit: int | None = None,
    test_limit: int | None = None,
) -> Scenario:
    """Cut a data set into tasks of consecutive, disjoint classes (Murata 2020, section 3).

    classes_per_task: C, so that there are T = K / C tasks, named after their classes. train_limit,
    test_limit: keep at most that many examples per class, the first in the data. Raises InputError
    if the classes cannot be shared out equally.
    """
    if classes_per_task < 1 or data.classes % classes_per_task:
        raise InputError(
            f"{data.name} has {data.classes} classes, which cannot be cut into tasks of "
            f"{classes_per_task}: choose a divisor of {data.classes}"
        )
    starts = range(0, data.classes, classes_per_task)
    groups = [range(start, start + classes_per_task) for start in starts]
    return cut(limited(data, train_limit, test_limit), "split", groups)


def cut(data: Dataset, kind: str, groups: Iterable[Sequence[int]]) -> Scenario:
    """Return a scenario of that kind with a task of each group of classes, in the data's order.

    groups: the classes of each task, neighbours of each other, of which its name is made.
    """
    tasks = [
        Task(
            index=index,
            name=_name(classes),
            classes=tuple(classes),
            train=data.train.of_classes(classes),
            test=data.test.of_classes(classes),
        )
        for index, classes in enumerate(groups, 1)
    ]
    return Scenario(name=data.name, kind=kind, tasks=tuple(tasks))


def limited(data: Dataset, train_limit: int | None, test_limit: int | None) -> Dataset:
    """Return the data with at most so many examples per class, the first; None = all of them.

    Raises InputError for a limit below 1.
    """
    train = data.train if train_limit is None else first_of_each(data.train, train_limit)
    test = data.test if test_limit is None else first_of_each(data.test, test_limit)
    return replace(data, train=train, test=test)


def first_of_each(examples: Examples, limit: int) -> Examples:
    """Return the first `limit` examples of every class, in their present order.

    Raises InputError for a limit below 1.

    >>> data = Examples(torch.arange(5), torch.tensor([0, 0, 1, 0, 1]))
    >>> first_of_each(data, 2).x.tolist()
    [0, 1, 2, 4]
    """
    if limit < 1:
        raise InputError(f"a limit must be 1 or more examples per class, got {limit}")
    kept = [(examples.y == c).nonzero().squeeze(1)[:limit] for c in torch.unique(examples.y)]
    return examples.take(torch.cat(kept).sort().values)


def _name(classes: Sequence[int]) -> str:
    return str(classes[0]) if len(classes) == 1 else f"{classes[0]}-{classes[-1]}"


def incremental(
    data: Dataset,
    base: int | None = None,
    train_limit: int | None = None,
    test_limit: int | None = None,
) -> Scenario:
    """Cut K classes into a base session of the first half and sessions of one class each.

    base: classes of the base session; None = K // 2 (Kemker 2018: "half of the classes" of 10, 100
    and 200). There are 1 + K - base sessions. train_limit, test_limit: keep at most that many
    examples per class, the first in the data. Raises InputError where the base session would hold
    no class, or leave none.
    """
    base = data.classes // 2 if base is None else base
    if not 1 <= base < data.classes:
        raise InputError(
            f"a base session of {base} of the {data.classes} classes of {data.name} leaves nothing "
            f"to learn before or after it: choose from 1 to {data.classes - 1}, of 2 classes or "
            f"more"
        )
    groups = [range(base), *(range(label, label + 1) for label in range(base, data.classes))]
    return cut(limited(data, train_limit, test_limit), "incremental", groups)
