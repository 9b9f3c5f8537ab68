"""Confusion matrices of the test data of several tasks, with the scores of each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probe.errors import InputError, NotMeasured
from probe.metrics.counts import ConfusionCounts, Counts, margins, sums_at

Mean = Literal["examples", "classes"]
"""An accuracy is a mean over all test examples, or over the classes' own accuracies."""


@dataclass(frozen=True, kw_only=True)
class TaskCounts:
    """One evaluation on the test data of T tasks.

    Attributes:
        tasks: The classes of each task.
        tables: One (K, K) table of all test data if no two tasks share a class, since an example's
            class then determines its task; otherwise one table per task.

    Raises:
        InputError: There are more or fewer tables.
    """

    tasks: tuple[tuple[int, ...], ...]
    tables: Sequence[Counts]

    def __post_init__(self) -> None:
        expected = len(self.tasks) if share_classes(self.tasks) else 1
        if len(self.tables) != expected:
            raise InputError(f"got {len(self.tables)} tables of counts, expected {expected}")
        object.__setattr__(self, "tables", ConfusionCounts.joined(self.tables))

    @classmethod
    def of(
        cls,
        true: ArrayLike,
        predicted: ArrayLike,
        sizes: Sequence[int],
        tasks: Sequence[Sequence[int]],
        classes: int,
    ) -> TaskCounts:
        """Count N labels and predictions, the test data of the tasks one after the other.

        Args:
            true: The labels, (N,) in 0..K-1.
            predicted: The predicted classes, (N,) in 0..K-1.
            sizes: (T,), the number of test examples of each task.
            tasks: The classes of each task.
            classes: K.

        Returns:
            The counts by task.

        Raises:
            InputError: The arguments do not fit together.

        >>> both = TaskCounts.of([0, 1, 0, 1], [0, 1, 0, 0], [2, 2], [[0, 1], [0, 1]], classes=2)
        >>> both.accuracies().tolist(), both.test_sizes().tolist()
        ([1.0, 0.5], [2, 2])
        """
        y, p = np.asarray(true), np.asarray(predicted)
        groups = tuple(tuple(task) for task in tasks)
        if sum(sizes) != len(y) or len(sizes) != len(groups) or min(sizes, default=0) < 0:
            raise InputError(
                f"sizes {list(sizes)} do not fit {len(y)} examples, {len(groups)} tasks"
            )
        # Where no class is shared one table holds all: the class of an example tells its task.
        parts = sizes if share_classes(groups) else [len(y)]
        return cls(tasks=groups, tables=ConfusionCounts.of(y, p, classes, parts))

    @property
    def total(self) -> Counts:
        """The counts (K, K) of all test data together."""
        return ConfusionCounts.joined(self.tables).total()

    def accuracies(self, mean: Mean = "examples") -> NDArray[np.float64]:
        """Return the accuracy on each task's test data.

        Args:
            mean: Mean over the test `examples`, or over the accuracies of the `classes`.

        Returns:
            (T,), in [0, 1]; NaN where a task has no test data.
        """
        true, _, right = self._margins
        if mean == "examples":
            return _ratio(self._by_task(right), self._by_task(true))
        by_class = _ratio(right, true)
        place, label = _members(self.tasks, true.shape[1])
        ends = np.searchsorted(place, np.arange(1, len(self.tasks)))
        own = np.split(by_class[place % len(by_class), label], ends)
        return np.array([_mean(values) for values in own])

    def test_sizes(self) -> NDArray[np.int64]:
        """Return the number of test examples of each task, (T,)."""
        return self._by_task(self._margins[0])

    def f1(self) -> NDArray[np.float64]:
        """Return each task's micro-F1, (T,), see `probe.metrics.murata.task_f1`.

        If tasks share classes, a task's false positives are counted among its own test data alone,
        not in predictions for other tasks' examples.
        """
        true, predicted, right = map(self._by_task, self._margins)
        if not true.all():
            place = int(np.argmin(true)) + 1
            raise NotMeasured(f"task {place} of {len(self.tasks)} has no test examples")
        return np.asarray(2 * right / (true + predicted))

    @cached_property
    def _margins(self) -> list[NDArray[np.int64]]:
        return margins(self.tables)

    def _by_task(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the values of each task's classes, (T,); values: (1, K) or (T, K)."""
        place, label = _members(self.tasks, values.shape[1])
        return sums_at(place, values[place % len(values), label], len(self.tasks))


# Both are asked for each evaluation of a study, always with the same few tasks.
@lru_cache(maxsize=64)
def share_classes(tasks: tuple[tuple[int, ...], ...]) -> bool:
    """Return whether some class is in more than one task."""
    listed = [c for task in tasks for c in task]
    return len(set(listed)) < len(listed)


@lru_cache(maxsize=64)
def _members(tasks: tuple[tuple[int, ...], ...], classes: int) -> tuple[NDArray[np.int64], ...]:
    """Return the place, from 0, and the label of each class of each task, task by task."""
    for task in tasks:
        if any(not 0 <= c < classes for c in task):
            raise InputError(f"classes must lie in 0..{classes - 1}, got {task}")
    place = np.repeat(np.arange(len(tasks)), [len(task) for task in tasks])
    return place, np.array([c for task in tasks for c in task], dtype=np.int64)


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return part / whole, elementwise, NaN where the whole is 0."""
    ratio = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean of those that are not NaN, NaN if there is none."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if there.size else float("nan")
