"""Streams of disjoint classes: equal tasks, or a base session and then class by class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probe.errors import InputError
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset


def split_by_class(data: Dataset, classes_per_task: int = 2) -> Scenario:
    """Cut a data set into tasks of consecutive, disjoint classes (Murata 2020, section 3).

    classes_per_task: C, so that there are T = K / C tasks, named after their classes. Raises
    InputError if the classes cannot be shared out equally.
    """
    if classes_per_task < 1 or data.classes % classes_per_task:
        raise InputError(
            f"{data.name} has {data.classes} classes, which cannot be cut into tasks of "
            f"{classes_per_task}: choose a divisor of {data.classes}"
        )
    starts = range(0, data.classes, classes_per_task)
    return cut(data, "split", [range(start, start + classes_per_task) for start in starts])


def incremental(data: Dataset, base: int | None = None) -> Scenario:
    """Cut K classes into a base session of the first half and sessions of one class each.

    The incremental-class stream of Kemker 2018. base: classes of the base session; None = K // 2
    (there: "half of the classes" of 10, 100 and 200). There are 1 + K - base sessions. Raises
    InputError where the base session would hold no class, or leave none.
    """
    base = data.classes // 2 if base is None else base
    if not 1 <= base < data.classes:
        raise InputError(
            f"a base session of {base} of the {data.classes} classes of {data.name} leaves nothing "
            f"to learn before or after it: choose from 1 to {data.classes - 1}, of 2 classes or "
            f"more"
        )
    # The later sessions have one class each.
    groups = [range(base), *(range(label, label + 1) for label in range(base, data.classes))]
    return cut(data, "incremental", groups)


def cut(data: Dataset, kind: str, groups: Iterable[Sequence[int]]) -> Scenario:
    """Return a scenario of that kind with a task of each group of classes, in the data's order.

    groups: the classes of each task, of which its name is made: `0-2` of neighbours, `0+5` else.
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


def _name(classes: Sequence[int]) -> str:
    if len(classes) == 1:
        return str(classes[0])
    neighbours = list(classes) == list(range(classes[0], classes[-1] + 1))
    return f"{classes[0]}-{classes[-1]}" if neighbours else "+".join(map(str, classes))
