"""Streams of disjoint classes: equal tasks, or a base session followed by single classes."""

from collections.abc import Iterable, Sequence

from probe.errors import InputError
from probe.tasked_examples import assign_tasks
from probe.tasks import Scenario
from scenarios.data.datasets import Dataset


def split_by_class(data: Dataset, classes_per_task: int = 2) -> Scenario:
    """Cut a data set into tasks of consecutive, disjoint classes (Murata 2020, section 3).

    classes_per_task: C, from 1, a divisor of K, or InputError is raised; there are T = K / C tasks.
    """
    if data.classes % classes_per_task:
        raise InputError(
            f"{data.name} has {data.classes} classes, which cannot be cut into tasks of "
            f"{classes_per_task}: choose a divisor of {data.classes}"
        )
    starts = range(0, data.classes, classes_per_task)
    return cut(data, "split", [range(start, start + classes_per_task) for start in starts])


def incremental(data: Dataset, base: int | None = None) -> Scenario:
    """Cut K classes into a base session of the first half and sessions of one class each.

    The incremental-class stream of Kemker 2018. base: classes of the base session, None for K // 2
    (there: "half of the classes" of 10, 100 and 200). Raises InputError for a base session without
    classes, or with all.
    """
    base = data.classes // 2 if base is None else base
    if not 1 <= base < data.classes:
        raise InputError(
            f"a base session of {base} of the {data.classes} classes of {data.name} leaves nothing "
            f"to learn before or after it: choose from 1 to {data.classes - 1}, of 2 classes or "
            f"more"
        )
    groups = [range(base), *(range(label, label + 1) for label in range(base, data.classes))]
    return cut(data, "incremental", groups)


def cut(data: Dataset, kind: str, groups: Iterable[Sequence[int]]) -> Scenario:
    """Return a scenario of that kind with a task of each group of classes, in the data's order."""
    given = assign_tasks({"train": data.train, "test": data.test}, list(groups))
    return Scenario.of_examples(data.name, given, kind)
