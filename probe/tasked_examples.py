"""Examples with the task of each: by task numbers, as a list by task, or by the classes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from textwrap import shorten
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from probe.arrays import Array
from probe.batch import Value, kinds, mapped
from probe.errors import InputError, located
from probe.examples import AnyExamples, Examples, check_examples, join
from probe.immutable import immutable
from probe.metrics.task_predictions import TaskClasses, TaskPredictions, share_classes
from probe.reading.item_format import pair

_LENGTH = 80  # characters of what a message quotes

Tasks = Sequence[Sequence[int]] | Sequence[int] | Array | None
"""The classes of each task in order, or the order of numbered tasks, None = ascending."""

TaskOrders = dict[str, tuple[int, ...]]
"""The tasks in executed order, by the name of the order."""

Orders = str | Mapping[str, Sequence[int]]
"""A rule for task orders, or the orders by name."""

Pair: TypeAlias = tuple[Value | Array, Tensor | Array | Sequence[int]]

Source: TypeAlias = AnyExamples | Pair | Dataset[Any] | DataLoader[Any] | Iterable[Any]
"""Examples, a pair (x, y), a Dataset or DataLoader, or another source that `Examples.of` reads."""

Data: TypeAlias = Source | Sequence[Source]
"""The examples of all tasks, as one or as a list with those of each task."""


@immutable(eq=False)
class TaskedExamples:
    """Examples with the task id of each, in the order of the tasks.

    Attributes:
        splits: Examples by the name of the split, such as `test`.
        classes: The classes of each of the T tasks.
        order: The task ids in the data, in order; None if the classes tell the tasks
            apart.
    """

    splits: Mapping[str, AnyExamples]
    classes: TaskClasses
    order: tuple[int, ...] | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes K over all tasks."""
        return len({label for task in self.classes for label in task})

    def numbers(self, split: str) -> Tensor:
        """Return the number of each example's task, (N,) on the CPU."""
        return cast(Tensor, self.splits[split].task).cpu()

    def sizes(self, split: str) -> list[int]:
        """Return the number of examples of each task, (T,)."""
        return list(map(int, self.numbers(split).bincount(minlength=len(self.classes))))

    def with_predictions(self, predicted: Tensor) -> TaskPredictions:
        """Return predictions (N,) for the test examples."""
        return TaskPredictions(
            labels=self.splits["test"].y.cpu().numpy(),
            predicted=predicted.cpu().numpy(),
            positions=self.numbers("test").numpy(),
            tasks=self.classes,
        )


def assign_tasks(
    data: Mapping[str, Data], tasks: Tasks, outputs: Sequence[int] | None = None
) -> TaskedExamples:
    """Number the task of each example, from 0 in the order of the tasks, and check all examples.

    Args:
        data: The examples by the name of the split.
        tasks: The classes of each task, or the order of the examples' task numbers.
            Only numbered tasks may share classes.
        outputs: The network's outputs for the classes; labels may be their numbers, see
            `probe.Model`.

    Returns:
        The examples with their tasks.

    Raises:
        InputError: A task has no examples, is listed twice or not at all, or examples
            and tasks do not fit together.

    >>> x, y = torch.zeros(4, 2), torch.tensor([0, 1, 0, 1])
    >>> examples = assign_tasks({"train": [Examples(x[:2], y[:2]), Examples(x[2:], y[2:])]}, None)
    >>> examples.classes, examples.splits["train"].task.tolist()
    (((0, 1), (0, 1)), [0, 0, 1, 1])
    """
    splits = {name: as_examples(split, name) for name, split in data.items()}
    if outputs is not None:
        splits, tasks = _by_position(splits, tasks, outputs)
    without = [name for name, split in splits.items() if split.task is None]
    if 0 < len(without) < len(splits):
        raise InputError(
            f"only {without[0]} has no task ids: give them to all examples or none"
        )
    numbered = _by_class if without else _by_number
    examples = numbered(splits, tasks)
    for name, split in examples.splits.items():
        check_examples(split, range(examples.n_classes), name)
    return examples


def as_examples(data: Data, name: str) -> AnyExamples:
    """Return any data as Examples; for a list by task, with the task number of each example.

    Args:
        data: Examples, which are returned unchanged, a pair (x, y), a Dataset, a
            DataLoader, or a list with one of these for each task.
        name: The name of the data in messages.

    Returns:
        The examples.

    Raises:
        InputError: The data are anything else.

    >>> x, y = np.zeros((3, 8)), [0, 1, 1]
    >>> len(as_examples((x, y), "test")), as_examples([(x, y), (x, y)], "test").task.tolist()
    (3, [0, 0, 0, 1, 1, 1])
    """
    if isinstance(data, Examples):
        return data
    is_pair = _is_pair(data)
    if isinstance(data, list) and data and not is_pair and all(map(_is_task, data)):
        parts = [
            as_examples(task, f"{name}, task {k}") for k, task in enumerate(data, 1)
        ]
        return _join(parts, name)
    # Not a list: it could be (train, test).
    if isinstance(data, tuple) and all(isinstance(part, Examples) for part in data):
        raise InputError(
            f"{name} is a tuple of Examples: give a list of those of each task"
        )
    with located(name):
        if is_pair:
            return Examples(*pair(*cast(Any, data)))
        return Examples.of(data)


def _is_pair(data: object) -> bool:
    """Return whether these are x and y of many examples."""
    match data:
        case [_, Tensor() | np.ndarray() as y] | [Tensor() | np.ndarray(), list() as y]:
            return len(getattr(y, "shape", (0,))) > 0
    return False


def _is_task(data: object) -> bool:
    """Return whether these are the examples of a task, not a single example."""
    return _is_pair(data) or not isinstance(data, tuple | list | Mapping)


def _join(parts: Sequence[AnyExamples], name: str) -> AnyExamples:
    """Join the examples of all tasks, numbered by their position; name: for messages."""
    forms = {kinds(mapped(part.x, lambda tensor: tensor[:0])) for part in parts}
    if len(forms) > 1:
        raise InputError(
            f"{name}: all tasks need the same x, got {' and '.join(sorted(forms))}"
        )
    if any(part.task is not None for part in parts):
        raise InputError(
            f"{name} is a list by task: leave out the task ids of its examples"
        )
    numbers = [torch.full_like(part.y, number) for number, part in enumerate(parts)]
    return join(parts).changed(task=torch.cat(numbers))


def _by_position(
    splits: dict[str, AnyExamples], tasks: Tasks, outputs: Sequence[int]
) -> tuple[dict[str, AnyExamples], Tasks]:
    """Convert labels and tasks' classes from numbers of outputs to positions among `outputs`.

    Labels 0..K-1 are positions already, whatever the outputs.
    """
    labels = _labels_in(splits.values())
    if labels <= set(range(len(outputs))) or not labels <= set(outputs):
        return splits, tasks
    position = {output: k for k, output in enumerate(outputs)}
    if all(split.task is None for split in splits.values()):
        classes = as_tasks(tasks)
        strange = sorted(set().union(*classes) - set(outputs))
        if strange:
            raise InputError(
                f"`tasks` has classes {strange}, missing in `classes`: correct either"
            )
        tasks = [[position[label] for label in task] for task in classes]
    placed = {}
    for name, split in splits.items():
        positions = [position[label] for label in split.y.tolist()]
        placed[name] = split.changed(y=split.y.new_tensor(positions))
    return placed, tasks


def _labels_in(parts: Iterable[AnyExamples]) -> set[int]:
    """Return the labels that occur."""
    return set().union(*(part.y.unique().tolist() for part in parts))


def _by_class(splits: Mapping[str, AnyExamples], tasks: Tasks) -> TaskedExamples:
    """Give each example the task whose class list holds its label."""
    classes = as_tasks(tasks)
    n_classes = sum(map(len, classes))
    check_tasks(classes, n_classes)
    task_of_class = torch.zeros(n_classes, dtype=torch.int64, device="cpu")
    for number, task in enumerate(classes):
        task_of_class[list(task)] = number
    # Labels are checked later: a strange one gets any task.
    numbered = {}
    for name, split in splits.items():
        rows = split.y.clamp(0, n_classes - 1)
        numbered[name] = split.changed(task=task_of_class.to(rows.device)[rows])
    return TaskedExamples(splits=numbered, classes=classes)


def _by_number(splits: Mapping[str, AnyExamples], tasks: Tasks) -> TaskedExamples:
    """Replace the examples' own task ids by the positions of these tasks in the order asked for.

    A task's classes are the labels of its examples. Raises InputError unless the ids of
    each split are 0..T-1 and the labels 0..K-1.
    """
    ids_of_split = {
        name: cast(Tensor, split.task).unique().tolist()
        for name, split in splits.items()
    }
    T = len(set().union(*ids_of_split.values()))
    for name, listed in ids_of_split.items():
        if listed != list(range(T)):
            raise InputError(
                f"{name} has task ids {shorten(str(listed), _LENGTH)}, expected "
                f"0..{T - 1}: use task.unique(return_inverse=True)[1]"
            )
    order = _order(tasks, T)
    position = torch.tensor(order, device="cpu").argsort()
    placed = {}
    for name, split in splits.items():
        placed[name] = split.changed(task=position.to(split.y.device)[split.task])
    classes = []
    for number in range(T):
        splits_of_task = [
            split.changed(y=split.y[split.task == number]) for split in placed.values()
        ]
        classes.append(tuple(sorted(_labels_in(splits_of_task))))
    labels = sorted(set().union(*classes))
    if labels != list(range(len(labels))):
        raise InputError(
            f"labels {shorten(str(labels), _LENGTH)} are not 0..K-1: "
            "renumber them, or give classes="
        )
    return TaskedExamples(splits=placed, classes=tuple(classes), order=order)


def _order(tasks: Tasks, count: int) -> tuple[int, ...]:
    """Return the order of numbered tasks; raises InputError unless it names each once."""
    numbers: Any = range(count) if tasks is None else tasks
    try:
        order = tuple(map(index, numbers))
    except TypeError:
        order = ()
    if sorted(order) != list(range(count)):
        raise InputError(
            f"examples have task ids: `tasks` must order 0..{count - 1}, "
            f"got {shorten(repr(tasks), _LENGTH)}"
        )
    return order


def as_tasks(tasks: object) -> TaskClasses:
    """Return the classes of each task.

    Args:
        tasks: The caller's argument.

    Returns:
        The classes of each task.

    Raises:
        InputError: The argument is not a list of lists of numbers.

    >>> as_tasks([range(2), [2]])
    ((0, 1), (2,))
    """
    try:
        return tuple(tuple(map(index, task)) for task in cast(Any, tasks))
    except TypeError:
        raise InputError(
            "tasks must list each task's classes, as [[0, 1], [2, 3]], "
            f"got {shorten(repr(tasks), _LENGTH)}; or give "
            "each example its task, Examples(x, y, task)"
        ) from None


def check_tasks(tasks: Sequence[Sequence[int]], classes: int) -> None:
    """Check that every class of 0..K-1 is in exactly one task.

    Args:
        tasks: The classes of each of the T tasks.
        classes: Number of classes K.

    Raises:
        InputError: A task is empty, or a class is unknown, in two tasks or in none.
    """
    empty = [number for number, task in enumerate(tasks, 1) if not len(task)]
    if empty or not tasks:
        what = "there are no tasks"
        if tasks:
            what = f"tasks {empty} of {len(tasks)} have no classes"
        raise InputError(f"{what}: give each task its classes, as [[0, 1], [2, 3]]")
    uses = Counter(label for task in tasks for label in task)
    if outside := sorted(uses.keys() - range(classes)):
        raise InputError(
            f"classes {outside} are outside 0..{classes - 1}: count from 0"
        )
    if twice := sorted(label for label, count in uses.items() if count > 1):
        raise InputError(
            f"classes {twice} are in two tasks: leave out tasks, and "
            "give data by task, as a list, Examples(x, y, task) or 'sites/{task}.npz' files"
        )
    if missing := sorted(set(range(classes)) - uses.keys()):
        raise InputError(f"classes {missing} are in no task: add each to one")


def task_names(tasks: Sequence[Sequence[int]]) -> list[str]:
    """Name each task after its classes, or by its number if tasks share classes.

    >>> task_names([[3], [0, 1, 2], [5, 4]]), task_names([[0, 1], [0, 1]])
    (['3', '0-2', '5+4'], ['1', '2'])
    """
    if share_classes(tuple(map(tuple, tasks))):
        return [str(number) for number in range(1, len(tasks) + 1)]
    return list(map(_task_name, tasks))


def _task_name(task: Sequence[int]) -> str:
    """Return the classes of a task as a range, or one by one."""
    if len(task) > 1 and [*task] == [*range(task[0], task[-1] + 1)]:
        return f"{task[0]}-{task[-1]}"
    return "+".join(map(str, task))
