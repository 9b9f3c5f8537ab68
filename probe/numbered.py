"""The task of each example: given with it, by a list of examples, or by the tasks' classes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from textwrap import shorten
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from probe.batch import Value, kinds, mapped
from probe.errors import InputError, located
from probe.examples import Examples, check_examples, join
from probe.metrics.task_counts import TaskCounts, share_classes
from probe.reading.items import pair

_LENGTH = 80  # characters of what a message quotes

Tasks = Sequence[Sequence[int]] | Sequence[int] | None
"""The classes of each task in order, or the order of numbered tasks, None = by their numbers."""

Labels: TypeAlias = Tensor | NDArray[Any] | Sequence[int]

Source: TypeAlias = (
    Examples[Any]
    | tuple[Value | NDArray[Any], Labels]
    | Dataset[Any]
    | DataLoader[Any]
    | Iterable[Any]
)
"""Examples, a pair (x, y), a Dataset or DataLoader, or another source that `Examples.of` reads."""

Data: TypeAlias = Source | Sequence[Source]
"""The examples of all tasks, as one or as a list with those of each task."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbered:
    """Examples with the number of the task of each, in the order of the tasks.

    halves: the data by name; classes: of each of the T tasks; order: of numbered tasks, the number
    that each task was given, None where the classes tell the tasks apart.
    """

    halves: Mapping[str, Examples[Any]]
    classes: tuple[tuple[int, ...], ...]
    order: tuple[int, ...] | None = None

    @property
    def known(self) -> int:
        """K, the number of classes over all tasks."""
        return len({label for task in self.classes for label in task})

    def numbers(self, name: str) -> Tensor:
        """Return the number of each example's task, (N,) on the CPU."""
        return cast(Tensor, self.halves[name].task).cpu()

    def sizes(self, name: str) -> list[int]:
        """Return the number of examples of each task, (T,)."""
        sizes: list[int] = self.numbers(name).bincount(minlength=len(self.classes)).tolist()
        return sizes

    def counted(self, predicted: Tensor) -> TaskCounts:
        """Count predictions (N,) for the test examples."""
        by_task = self.numbers("test").argsort(stable=True)
        true, found = (each.cpu()[by_task] for each in (self.halves["test"].y, predicted))
        return TaskCounts.of(true, found, self.sizes("test"), self.classes, self.known)


def numbered(
    given: Mapping[str, Data], tasks: Tasks, outputs: Sequence[int] | None = None
) -> Numbered:
    """Return examples with their tasks' numbers, from 0 in the order of `tasks`.

    Classes may recur in tasks whose examples have a number. outputs: the network's, of the classes,
    whose own numbers the labels may be, see `probe.Model`. Raises InputError for tasks without
    examples, and for tasks that are given twice or not at all.

    >>> x, y = torch.zeros(4, 2), torch.tensor([0, 1, 0, 1])
    >>> found = numbered({"train": [Examples(x[:2], y[:2]), Examples(x[2:], y[2:])]}, None)
    >>> found.classes, found.halves["train"].task.tolist()
    (((0, 1), (0, 1)), [0, 0, 1, 1])
    """
    halves: Mapping[str, Examples[Any]] = {n: examples_of(each, n) for n, each in given.items()}
    if outputs is not None:
        halves, tasks = _by_position(halves, tasks, outputs)
    known = [name for name, half in halves.items() if half.task is not None]
    if not known:
        return _by_class(halves, tasks)
    if len(known) < len(halves):
        lacking = next(name for name in halves if name not in known)
        raise InputError(
            f"the examples of {known[0]} have their task, those of {lacking} do not: give both"
        )
    return _by_number(halves, tasks)


def examples_of(data: Data, name: str) -> Examples[Any]:
    """Return any data as Examples, those of a list of tasks with the number of each one's task.

    data: Examples, which are returned as they are, a pair (x, y), a Dataset, a DataLoader, or a
    list with one of these for each task; name: of the data, for messages. Raises InputError for
    anything else.

    >>> x, y = np.zeros((3, 8)), [0, 1, 1]
    >>> len(examples_of((x, y), "test")), examples_of([(x, y), (x, y)], "test").task.tolist()
    (3, [0, 0, 0, 1, 1, 1])
    """
    if isinstance(data, Examples):
        return data
    if isinstance(data, list) and data and not _is_pair(data) and all(map(_is_task, data)):
        each = [examples_of(own, f"{name}, task {number}") for number, own in enumerate(data, 1)]
        return _joined(each, name)
    # Not a list: it could be (train, test).
    if isinstance(data, tuple) and all(isinstance(own, Examples) for own in data):
        raise InputError(f"{name} is a tuple of Examples: give a list of those of each task")
    with located(name):
        return Examples(*pair(*cast(Any, data))) if _is_pair(data) else Examples.of(data)


def _is_pair(data: object) -> bool:
    """Return whether these are x and y of many examples."""
    match data:
        case [_, Tensor() | np.ndarray() as y] | [Tensor() | np.ndarray(), list() as y]:
            return len(getattr(y, "shape", (0,))) > 0
    return False


def _is_task(data: object) -> bool:
    """Return whether these are the examples of a task, and no example."""
    return _is_pair(data) or not isinstance(data, tuple | list | Mapping)


def _joined(given: Sequence[Examples[Any]], name: str) -> Examples[Any]:
    """Return the examples of each task as one, numbered by their position; name: for messages."""
    own = [kinds(mapped(each.x, lambda part: part[:0])) for each in given]
    for number, each in enumerate(given, 1):
        if each.task is not None or own[number - 1] != own[0]:
            what = f"x {own[number - 1]}" if each.task is None else "numbers of tasks"
            raise InputError(
                f"{name}: a list has the examples of each task, without numbers of tasks, all with "
                f"x {own[0]}, got {what} in those of task {number}"
            )
    sizes = torch.tensor([len(each) for each in given])
    whole = join(given)
    numbers = torch.arange(len(given)).repeat_interleave(sizes)
    return replace(whole, task=numbers.to(whole.y.device))


def _by_position(
    halves: Mapping[str, Examples[Any]], tasks: Tasks, outputs: Sequence[int]
) -> tuple[Mapping[str, Examples[Any]], Tasks]:
    """Return labels and tasks' classes that are numbers of outputs by their positions there.

    Labels 0..K-1 are positions already, whatever the outputs.
    """
    labels = set(torch.cat([half.y.unique().cpu() for half in halves.values()]).tolist())
    if labels <= set(range(len(outputs))) or not labels <= set(outputs):
        return halves, tasks
    position = {output: at for at, output in enumerate(outputs)}
    if all(half.task is None for half in halves.values()):
        named = as_tasks(tasks)
        if strange := sorted({label for task in named for label in task} - set(outputs)):
            raise InputError(
                f"the tasks name the classes {strange}, which are none of the outputs in classes=, "
                f"by which the labels are given: name them alike"
            )
        tasks = [[position[label] for label in task] for task in named]
    numbers = {n: [position[label] for label in h.y.tolist()] for n, h in halves.items()}
    return {n: replace(h, y=h.y.new_tensor(numbers[n])) for n, h in halves.items()}, tasks


def _by_class(halves: Mapping[str, Examples[Any]], tasks: Tasks) -> Numbered:
    classes = as_tasks(tasks)
    check_tasks(classes, known := sum(map(len, classes)))
    own = torch.zeros(known, dtype=torch.int64)
    for number, task in enumerate(classes):
        own[list(task)] = number
    for name, half in halves.items():
        check_examples(half, range(known), name)
    found = {n: replace(h, task=own.to(h.y.device)[h.y]) for n, h in halves.items()}
    return Numbered(halves=found, classes=classes)


def _by_number(halves: Mapping[str, Examples[Any]], tasks: Tasks) -> Numbered:
    there = {n: set(cast(Any, h.task).unique().tolist()) for n, h in halves.items()}
    T = len(set.union(*there.values()))
    for name, own in there.items():
        if len(own) < T or min(own) < 0 or max(own) >= T:
            shown = shorten(str(sorted(own)), _LENGTH)
            raise InputError(
                f"{name} has the task numbers {shown}, expected each of 0..{T - 1}: give each task "
                f"examples, numbered so, as by task.unique(return_inverse=True)[1]"
            )
    order = _order(tasks, T)
    place = torch.tensor(order).argsort()
    found = {n: replace(h, task=place.to(h.y.device)[h.task]) for n, h in halves.items()}
    classes = [
        torch.cat([half.y[half.task == number].cpu() for half in found.values()]).unique()
        for number in range(T)
    ]
    every = torch.cat(classes).unique().tolist()
    if every != list(range(len(every))):
        raise InputError(
            f"the labels of all tasks are {shorten(str(every), _LENGTH)}, expected each of 0..K-1: "
            f"number the classes so, or name their outputs by Model(..., classes=)"
        )
    for name, half in found.items():
        check_examples(half, every, name)
    return Numbered(
        halves=found,
        classes=tuple(tuple(classes[number].tolist()) for number in range(T)),
        order=order,
    )


def _order(tasks: Tasks, count: int) -> tuple[int, ...]:
    """Return the order of numbered tasks; raises InputError unless it names each once."""
    if tasks is None:
        return tuple(range(count))
    try:
        order = tuple(map(index, cast(Any, tasks)))
    except TypeError:
        order = ()
    if sorted(order) != list(range(count)):
        raise InputError(
            f"the examples have their tasks, so tasks is left out or an order of 0..{count - 1}, "
            f"got {shorten(repr(tasks), _LENGTH)}"
        )
    return order


def as_tasks(tasks: object) -> tuple[tuple[int, ...], ...]:
    """Return the classes of each task; raises InputError unless they are lists of numbers.

    >>> as_tasks([range(2), [2]])
    ((0, 1), (2,))
    """
    try:
        return tuple(tuple(map(index, task)) for task in cast(Any, tasks))
    except TypeError:
        raise InputError(
            f"tasks must be a list with the class numbers of each task, as [[0, 1], [2, 3]], got "
            f"{shorten(repr(tasks), _LENGTH)}; or give each example its task, Examples(x, y, task)"
        ) from None


def check_tasks(tasks: Sequence[Sequence[int]], classes: int) -> None:
    """Raise InputError unless every class of 0..K-1 is in exactly one task, K = classes.

    tasks: the classes of each of the T tasks.
    """
    if not all(map(len, tasks)) or not tasks:
        empty = [at + 1 for at, task in enumerate(tasks) if not len(task)]
        what = f"tasks {empty} of {len(tasks)} have no classes" if tasks else "there are no tasks"
        raise InputError(f"{what}: give each task its classes, as [[0, 1], [2, 3]]")
    listed = [c for task in tasks for c in task]
    if outside := sorted({c for c in listed if not 0 <= c < classes}):
        raise InputError(
            f"classes {outside} of the tasks are outside 0..{classes - 1}: count from 0"
        )
    if twice := sorted({c for c in listed if listed.count(c) > 1}):
        raise InputError(
            f"classes {twice} are in more than one task, so that they do not tell it: leave out "
            f"tasks and give each example its task, by Examples(x, y, task), a list with the data "
            f"of each task, or feature files: 'sites/{{task}}.npz', or one with task_train and "
            f"task_test"
        )
    if missing := sorted(set(range(classes)) - set(listed)):
        raise InputError(f"classes {missing} are in no task: every class belongs to one")


def task_names(tasks: Sequence[Sequence[int]]) -> list[str]:
    """Return a name for each task: of its classes, or its number where tasks share classes.

    >>> task_names([[0, 1], [2, 3]]), task_names([[0, 1], [0, 1]])
    (['0-1', '2-3'], ['1', '2'])
    """
    if share_classes(tuple(map(tuple, tasks))):
        return [str(number) for number in range(1, len(tasks) + 1)]
    return list(map(task_name, tasks))


def task_name(classes: Sequence[int]) -> str:
    """Return the name of a task of those classes, for tables and figures.

    >>> task_name([3]), task_name([0, 1, 2]), task_name([5, 0])
    ('3', '0-2', '5+0')
    """
    listed = list(classes)
    if len(listed) > 1 and listed == list(range(listed[0], listed[-1] + 1)):
        return f"{listed[0]}-{listed[-1]}"
    return "+".join(map(str, listed))
