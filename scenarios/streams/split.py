"""Streams: a data set cut into tasks, and the orders in which the tasks are executed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from scenarios.data.datasets import Dataset
from scenarios.streams.task import Scenario, Task

MOST = 10_000
"""Sessions, orders or seeds of a study: more is a slip of the pen."""


def split_by_class(
    data: Dataset,
    classes_per_task: int = 2,
    train_limit: int | None = None,
    test_limit: int | None = None,
) -> Scenario:
    """Cut a data set into tasks of consecutive, disjoint classes (Murata 2020, section 3).

    train_limit, test_limit: keep at most that many examples per class, the first in the data.
    Raises InputError if the classes cannot be shared out equally.
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
    """Return a scenario of that kind with a task of each group of classes, in the data's order."""
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
    """Return the first `limit` examples of every class, in their present order."""
    if limit < 1:
        raise InputError(f"a limit must be 1 or more examples per class, got {limit}")
    kept = [(examples.y == c).nonzero().squeeze(1)[:limit] for c in torch.unique(examples.y)]
    return examples.take(torch.cat(kept).sort().values)


def orders(rule: str | Mapping[str, Sequence[int]], tasks: int) -> dict[str, tuple[int, ...]]:
    """Return the task orders of a study by name: each lists places in the base order, from 0.

    rule: `rotate` (all T rotations, named by their number), `none` (the base order alone),
    `shuffle:N` (N shuffles, the same on every machine), or explicit orders, name -> places from 1.

    >>> orders("rotate", 3)
    {'0': (0, 1, 2), '1': (1, 2, 0), '2': (2, 0, 1)}
    >>> orders({"back": [3, 2, 1]}, 3)
    {'back': (2, 1, 0)}
    """
    base = tuple(range(tasks))
    if not isinstance(rule, str):
        return {name: _explicit(name, places, tasks) for name, places in rule.items()}
    if rule == "none":
        return {"0": base}
    if rule == "rotate":
        return {str(k): base[k:] + base[:k] for k in base}
    count = re.fullmatch("shuffle:([0-9]{1,9})", rule)
    if count is None or not 1 <= int(count[1]) <= MOST:
        raise InputError(
            f"unknown orders {rule!r}: expected rotate, none or shuffle:N, N from 1 to {MOST}"
        )
    shuffles = (torch.randperm(tasks, generator=stream(k, "order")) for k in range(int(count[1])))
    return {str(k): tuple(order.tolist()) for k, order in enumerate(shuffles)}


def _explicit(name: str, places: Sequence[int], tasks: int) -> tuple[int, ...]:
    if sorted(places) != list(range(1, tasks + 1)):
        raise InputError(f"order {name!r} must name each task from 1 to {tasks} once: {places}")
    return tuple(place - 1 for place in places)


def _name(classes: Sequence[int]) -> str:
    return str(classes[0]) if len(classes) == 1 else f"{classes[0]}-{classes[-1]}"
