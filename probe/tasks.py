"""Tasks, and the scenarios in which a learner meets them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples, check_examples, join
from probe.metrics.task_counts import TaskCounts
from probe.numbered import Numbered, task_names


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One task: its classes and the examples to learn and to test them.

    index: its number in the base order, from 1; classes: the labels that occur in it; train, test:
    inputs (N, ...), labels (N,) among the classes, which other tasks may have, too. Scenarios
    number classes 0..K-1 over all tasks. test_index: the position of each test example in the test
    data that a caller gave, (N,), None where these are the tasks' one after the other. Raises
    InputError for labels outside the classes, and for NaN or Inf.
    """

    index: int
    name: str
    classes: tuple[int, ...]
    train: Examples
    test: Examples
    test_index: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        check_examples(self.train, self.classes, f"the training data of task {self.name!r}")
        check_examples(self.test, self.classes, f"the test data of task {self.name!r}")


@dataclass(frozen=True, kw_only=True, eq=False)
class TestExamples:
    """The N test examples of all tasks, in the order in which the caller gave them.

    labels: (N,) int64; tasks: (N,) int64, the task of each in base order, from 0.
    """

    __test__: ClassVar[bool] = False  # no test, whatever its name

    labels: NDArray[np.int64]
    tasks: NDArray[np.int64]

    def by_task(self, order: Sequence[int]) -> NDArray[np.intp]:
        """Return the positions of the examples, (N,), task after task in an order of the tasks."""
        return np.concatenate([np.flatnonzero(self.tasks == task) for task in order])

    def counts(
        self, predicted: NDArray[Any], order: Sequence[int], classes: Sequence[Sequence[int]]
    ) -> TaskCounts:
        """Count predictions (N,); classes: of the tasks, in the order in which they come."""
        positions = self.by_task(order)
        sizes = np.bincount(self.tasks, minlength=len(order))[list(order)].tolist()
        known = len({label for task in classes for label in task})
        return TaskCounts.of(self.labels[positions], predicted[positions], sizes, classes, known)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """T tasks in the order in which they are learned, over K classes in all.

    kind: the stream: `split` (disjoint classes, or tasks that the data bring), `incremental` (a
    base session of several classes, then one class per session), `permutation` (the same classes in
    every session, the input elements permuted), `multimodal` (two data sets, classes disjoint),
    `domain` (the same classes in every task, of other inputs).
    """

    name: str
    kind: str
    tasks: tuple[Task, ...]

    @classmethod
    def of_numbered(cls, name: str, given: Numbered, kind: str = "split") -> Self:
        """Cut numbered examples, `train` and `test`, into tasks, keeping their order."""
        names, (train, test) = task_names(given.classes), given.halves.values()
        each = [
            Task(
                index=k + 1,
                name=names[k],
                classes=own,
                train=train.of_task(k),
                test=test.of_task(k),
                test_index=np.flatnonzero(given.numbers("test").numpy() == k),
            )
            for k, own in enumerate(given.classes)
        ]
        return cls(name=name, kind=kind, tasks=tuple(each))

    @property
    def classes(self) -> int:
        """K, the number of classes over all tasks."""
        return len({c for task in self.tasks for c in task.classes})

    def reordered(self, order: Sequence[int]) -> Scenario:
        """Return the scenario with its tasks in another order.

        order: the T tasks as they are to be learned, each by its number in this one, from 0. Raises
        InputError unless it names each once.
        """
        if sorted(order) != list(range(len(self.tasks))):
            raise InputError(
                f"a task order names each of 0..{len(self.tasks) - 1} once, got {list(order)}"
            )
        return replace(self, tasks=tuple(self.tasks[k] for k in order))

    def to(self, device: torch.device) -> Scenario:
        """Return the scenario with all its data on `device`; data already there are shared."""
        tasks = tuple(
            replace(task, train=task.train.to(device), test=task.test.to(device))
            for task in self.tasks
        )
        return replace(self, tasks=tasks)

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

    def in_callers_order(self, values: Tensor) -> NDArray[Any]:
        """Return values of the examples of `test`, (N,), in the order of the caller's data."""
        return np.asarray(values.cpu().numpy()[self._from_callers_order])

    @cached_property
    def _from_callers_order(self) -> NDArray[np.intp]:
        """The position in `test` of each example of the caller's test data, (N,)."""
        starts, start = {}, 0
        for task in sorted(self.tasks, key=lambda task: task.index):
            starts[task.index] = start
            start += len(task.test)
        positions = [
            starts[task.index] + np.arange(len(task.test))
            if task.test_index is None
            else task.test_index
            for task in self.tasks
        ]
        return np.concatenate(positions).argsort()

    @cached_property
    def merged(self) -> Task:
        """All tasks as a single one: the task of offline training."""
        return Task(
            index=1,
            name="all",
            classes=tuple(sorted({c for task in self.tasks for c in task.classes})),
            train=join([task.train for task in self.tasks]),
            test=self.test,
        )
