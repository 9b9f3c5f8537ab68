"""Tasks, scenarios in which they are learned one after the other, and task orders."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from probe.arrays import Array, Ints
from probe.batch import Named, Value, tensor_hash
from probe.errors import InputError
from probe.examples import Examples, join
from probe.immutable import immutable
from probe.metrics.task_predictions import TestExamples
from probe.seeding import permutation, stream
from probe.tasked_examples import Orders, TaskedExamples, TaskOrders, task_names
from probe.validation import MOST


@immutable(eq=False)
class Task:
    """One task: its classes and the examples to learn and to test them.

    Attributes:
        index: The task's number in the base order, from 1.
        name: The task's name.
        classes: The labels of the task, 0..K-1 over all tasks; other tasks may share
            them.
        train: Training examples: finite inputs (N, ...), labels (N,) among the classes.
        test: Test examples of the same form.
        test_index: The position of each test example in the caller's test data, (N,);
            None if these are the test examples of one task after the other.
    """

    index: int
    name: str
    classes: tuple[int, ...]
    train: Examples
    test: Examples
    test_index: Ints | None = None


@immutable(eq=False)
class Scenario:
    """T tasks in the order in which they are learned, over K classes in all.

    Attributes:
        name: The name of the scenario.
        kind: The stream: `class-incremental` or `task-incremental` (disjoint classes,
            or tasks of the data set), `incremental` (a base session of several classes,
            then one class per session), `permutation` (the same classes in every
            session, the input elements permuted), `multimodal` (two data sets, classes
            disjoint), `domain-incremental` (the same classes in every task, with other
            inputs).
        tasks: The tasks in the order in which they are learned.
    """

    name: str
    kind: str
    tasks: tuple[Task, ...]

    @classmethod
    def of_examples(
        cls, name: str, examples: TaskedExamples, kind: str = "class-incremental"
    ) -> Self:
        """Divide examples, with the splits `train` and `test`, into their tasks.

        Args:
            name: The name of the scenario.
            examples: The examples of all tasks, with the task of each.
            kind: The kind of stream, see the class.

        Returns:
            The tasks in the order of the examples' tasks.

        Raises:
            InputError: A task has no examples to train or to test on.
        """
        names = task_names(examples.classes)
        tasks = []
        for split, what in (("train", "training"), ("test", "test")):
            if 0 in (sizes := examples.sizes(split)):
                name = names[sizes.index(0)]
                raise InputError(
                    f"task {name!r} has no {what} examples: add some or leave it out"
                )
        splits = {name: split.shared() for name, split in examples.splits.items()}
        for k, classes in enumerate(examples.classes):
            is_of_task = examples.numbers("test").numpy() == k
            tasks.append(
                Task(
                    index=k + 1,
                    name=names[k],
                    classes=classes,
                    train=splits["train"].of_task(k),
                    test=splits["test"].of_task(k),
                    test_index=np.flatnonzero(is_of_task),
                )
            )
        return cls(name=name, kind=kind, tasks=tuple(tasks))

    @property
    def classes(self) -> int:
        """The number of classes K over all tasks."""
        return len({c for task in self.tasks for c in task.classes})

    def reordered(self, order: Sequence[int]) -> Self:
        """Return the scenario with its tasks in another order.

        Args:
            order: The T tasks in the new order, each by its number in this scenario,
                from 0.

        Raises:
            InputError: The order does not name each task once.
        """
        if sorted(order) != list(range(T := len(self.tasks))):
            raise InputError(
                f"an order of {T} tasks must name each once, got {list(order)}"
            )
        return replace(self, tasks=tuple(self.tasks[k] for k in order))

    def to(self, device: torch.device) -> Self:
        """Return the scenario with all its data on `device`; data already there are shared."""
        tasks = (
            replace(t, train=t.train.to(device), test=t.test.to(device))
            for t in self.tasks
        )
        return replace(self, tasks=tuple(tasks))

    @cached_property
    def test(self) -> Examples:
        """The test data of all tasks, one after the other in the order of the tasks."""
        return join([task.test for task in self.tasks])

    @cached_property
    def test_examples(self) -> TestExamples:
        """The labels and tasks of the test data, in the caller's order."""
        sizes = [len(task.test) for task in self.tasks]
        tasks = np.repeat([task.index - 1 for task in self.tasks], sizes)
        labels = self.in_callers_order(self.test.y).astype(np.int64)
        return TestExamples(labels=labels, tasks=tasks[self._from_callers_order])

    def in_callers_order(self, values: Tensor) -> Array:
        """Return values of the examples of `test`, (N,), in the order of the caller's data."""
        return values.cpu().numpy()[self._from_callers_order]

    @cached_property
    def _from_callers_order(self) -> Ints:
        """The position in `test` of each example of the caller's test data, (N,)."""
        index_of_task: dict[int, Ints] = {}
        start = 0
        for task in sorted(self.tasks, key=lambda task: task.index):
            numbers = np.arange(start, start := start + len(task.test))
            index_of_task[task.index] = (
                numbers if task.test_index is None else task.test_index
            )
        return np.concatenate(
            [index_of_task[task.index] for task in self.tasks]
        ).argsort()

    @cached_property
    def merged(self) -> Task:
        """All tasks as a single one: the task of offline training."""
        classes = tuple(sorted({c for task in self.tasks for c in task.classes}))
        train = join([task.train for task in self.tasks])
        return Task(index=1, name="all", classes=classes, train=train, test=self.test)


def data_hash(scenario: Scenario) -> str:
    """Return a hash of all examples of a scenario, task by task: inputs and labels, train and test.

    The order of the examples counts, as mini-batches are drawn by their index; the
    names of the tasks do not.

    Returns:
        64 hexadecimal digits.
    """
    tensors: Named = {}
    for k, task in enumerate(scenario.tasks):
        for split, examples in (("train", task.train), ("test", task.test)):
            inputs = _tensors_by_name(examples.x)
            tensors |= {f"{k}.{split}.{name}": x for name, x in inputs.items()}
            tensors[f"{k}.{split}.y"] = examples.y
    return tensor_hash(tensors)


def _tensors_by_name(x: Value) -> Named:
    if isinstance(x, Tensor):
        return {"x": x}
    items = x.items() if isinstance(x, Mapping) else enumerate(x)
    return {f"x.{name}": tensor for name, tensor in items}


def orders(rule: Orders, tasks: int) -> TaskOrders:
    """Return the task orders of a study.

    Args:
        rule: `rotate` (all T rotations, named by their number), `none` (only the base
            order), `shuffle:N` (N shuffles, the same on every machine), or the tasks of
            each order, from 1, by the order's name.
        tasks: The number of tasks T.

    Returns:
        The orders by name, each with T tasks numbered from 0 in the base order.

    Raises:
        InputError: The rule is unknown, or an order does not name each task once.

    >>> orders("rotate", 3)
    {'0': (0, 1, 2), '1': (1, 2, 0), '2': (2, 0, 1)}
    >>> orders({"back": [3, 2, 1]}, 3)
    {'back': (2, 1, 0)}
    """
    if not isinstance(rule, str):
        return _named_orders(rule, tasks)
    base = tuple(range(tasks))
    if rule == "none":
        return {"0": base}
    if rule == "rotate":
        return {str(k): base[k:] + base[:k] for k in base}
    # At most nine digits, as `int` of a million takes long.
    count = re.fullmatch("shuffle:([0-9]{1,9})", rule)
    if count is None or not 1 <= int(count[1]) <= MOST:
        raise InputError(
            f"unknown orders {rule!r}: give rotate, none or shuffle:N, N up to {MOST}"
        )
    shuffles = {}
    for k in range(int(count[1])):
        # Each from its own stream, so that more shuffles leave the first as they are.
        order = permutation(tasks, stream(k, "order"))
        shuffles[str(k)] = tuple(order.tolist())
    return shuffles


def _named_orders(rule: object, tasks: int) -> TaskOrders:
    """Return the orders that a mapping lists, from 0; raises InputError for another rule."""
    if not isinstance(rule, Mapping) or not all(
        isinstance(listed, Sequence) for listed in rule.values()
    ):
        raise InputError(f"orders must be a rule or {{name: tasks}}, got {rule!r:.60}")
    for name, listed in rule.items():
        numbers = range(1, tasks + 1)
        if len(listed) != tasks or not all(number in listed for number in numbers):
            raise InputError(
                f"order {name!r} must name each of 1 to {tasks} once: {listed}"
            )
    return {name: tuple(task - 1 for task in listed) for name, listed in rule.items()}
