"""Predictions for the test data of several tasks, with the scores of each task."""

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from probe.arguments import checked
from probe.arrays import Array, Bools, Floats, Ints
from probe.errors import InputError, NotMeasured, located
from probe.immutable import immutable
from probe.metrics.counts import Counts, checked_labels

Mean = Literal["examples", "classes"]
"""The mean that an accuracy is: over all test examples, or over the accuracies of the classes."""

TaskClasses = tuple[tuple[int, ...], ...]
"""The classes of each task."""


@immutable(eq=False)
class TaskPredictions:
    """The predictions of one evaluation for the N test examples of T tasks of K classes.

    >>> both = TaskPredictions.of([0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [[0, 1], [0, 1]])
    >>> both.accuracies().tolist(), both.test_sizes().tolist()
    ([1.0, 0.5], [2, 2])

    Attributes:
        labels: The true classes, (N,) from 0 to K - 1.
        predicted: The predicted classes, (N,) from 0 to K - 1.
        positions: The task of each example, (N,) from 0 to T - 1.
        tasks: The classes of each task.
    """

    labels: Ints
    predicted: Ints
    positions: Ints
    tasks: TaskClasses

    @classmethod
    @checked
    def of(
        cls,
        true: ArrayLike,
        predicted: ArrayLike,
        positions: ArrayLike,
        tasks: Sequence[Sequence[int]],
    ) -> "TaskPredictions":
        """Check and convert labels, predictions and tasks; see the attributes of the class.

        Raises:
            InputError: Labels, predictions and tasks do not fit together.
        """
        groups = tuple(map(tuple, tasks))
        y, p = checked_labels(true, predicted, _classes(groups))
        with located("task positions"):
            _, task_of_example = checked_labels(positions, positions, len(groups))
        if len(task_of_example) != len(y):
            raise InputError(
                f"`positions` must hold a task from 0 to {len(groups) - 1} for each of "
                f"{len(y)} examples, got {len(task_of_example)}"
            )
        return cls(labels=y, predicted=p, positions=task_of_example, tasks=groups)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskPredictions) or self.tasks != other.tasks:
            return False
        names = ("labels", "predicted", "positions")
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    @property
    def counts(self) -> Counts:
        """The confusion matrix (K, K) of all test data together."""
        return Counts.of(self.labels, self.predicted, _classes(self.tasks))

    @property
    def correct(self) -> Bools:
        """Whether each example is classified correctly, (N,)."""
        return np.equal(self.labels, self.predicted)

    @checked
    def accuracies(self, mean: Mean = "examples") -> Floats:
        """Return the accuracy on each task's test data.

        Args:
            mean: Mean over the test `examples`, or over the accuracies of the
                `classes`.

        Returns:
            The accuracies (T,) in [0, 1]; NaN where a task has no test data.
        """
        if mean == "examples":
            return _ratio(self._by_task(self.correct), self.test_sizes())
        T = len(self.tasks)
        K = _classes(self.tasks)
        cells = self.positions * K + self.labels
        counted = cells, cells[self.correct]
        sizes, correct = (
            np.bincount(x, minlength=T * K).reshape(T, K) for x in counted
        )
        by_class = (
            _ratio(correct, sizes)[t, list(task)] for t, task in enumerate(self.tasks)
        )
        present = (values[~np.isnan(values)] for values in by_class)
        return np.array(
            [values.mean() if values.size else np.nan for values in present]
        )

    def test_sizes(self) -> Ints:
        """Return the number of test examples of each task, (T,)."""
        return np.bincount(self.positions, minlength=len(self.tasks))

    def f1(self) -> Floats:
        """Return each task's micro-F1, (T,), see `probe.metrics.murata.task_f1`.

        If tasks share classes, a task's false positives are counted among its own test
        data only, not in predictions for other tasks' examples.

        Raises:
            NotMeasured: A task has no test examples.
        """
        sizes = self.test_sizes()
        if not sizes.all():
            position = int(np.argmin(sizes)) + 1
            raise NotMeasured(
                f"task {position} of {len(self.tasks)} has no test examples"
            )
        member = _members(self.tasks)
        if share_classes(self.tasks):
            predicted = self._by_task(member[self.positions, self.predicted])
        else:
            predicted = member @ np.bincount(self.predicted, minlength=member.shape[1])
        return 2 * self._by_task(self.correct) / (sizes + predicted)

    def _by_task(self, selected: Bools) -> Ints:
        """Return the number of selected examples of each task, (T,)."""
        return np.bincount(self.positions[selected], minlength=len(self.tasks))


# All are asked for each evaluation of a study, always with the same few tasks.
@lru_cache(maxsize=64)
def share_classes(tasks: TaskClasses) -> bool:
    """Return whether some class is in more than one task."""
    return len({label for task in tasks for label in task}) < sum(map(len, tasks))


@immutable(eq=False)
class TestExamples:
    """The N test examples of all tasks, in the order in which the caller gave them.

    Attributes:
        labels: The labels (N,) int64.
        tasks: The task of each example in base order, from 0, (N,) int64.
    """

    __test__: ClassVar[bool] = False  # no test, whatever its name

    labels: Ints
    tasks: Ints

    def with_predictions(
        self, predicted: Array, order: Sequence[int], classes: TaskClasses
    ) -> TaskPredictions:
        """Return predictions for the examples, with the tasks in another order.

        Args:
            predicted: The predicted classes, (N,).
            order: The T tasks in that order, each by its number in base order, from 0.
            classes: The classes of each task, in that order.
        """
        return TaskPredictions(
            labels=self.labels,
            predicted=predicted.astype(np.int64),
            positions=np.argsort(order)[self.tasks],
            tasks=classes,
        )


@lru_cache(maxsize=64)
def _classes(tasks: TaskClasses) -> int:
    """Return K, one more than the largest class."""
    return 1 + max((label for task in tasks for label in task), default=-1)


@lru_cache(maxsize=64)
def _members(tasks: TaskClasses) -> Bools:
    """Return whether each class belongs to each task, (T, K)."""
    member = np.zeros((len(tasks), _classes(tasks)), dtype=bool)
    for task, classes in zip(member, tasks, strict=True):
        task[list(classes)] = True
    return member


def _ratio(numerator: Ints, total: Ints) -> Floats:
    """Return the quotients, NaN where the total is 0."""
    ratio = np.full(total.shape, np.nan)
    np.divide(numerator, total, out=ratio, where=total > 0)
    return ratio
