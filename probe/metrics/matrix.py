"""The accuracy matrix R: accuracy on every task before any training and after each task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from probe.arguments import checked
from probe.arrays import Floats
from probe.errors import InputError, NotMeasured
from probe.metrics.task_predictions import Mean, TaskPredictions


def aligned(
    table: Sequence[Sequence[str]], justified: Callable[[str, int], str] = str.ljust
) -> list[str]:
    """Return the lines of a table, its columns aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(justified, row, widths)).rstrip() for row in table]


@dataclass(frozen=True, eq=False)
class AccuracyMatrix:
    """R[i, j] = test accuracy on task j after training through task i, as fractions in [0, 1].

    Args:
        values: Accuracies (T+1, T); row i = tasks learned so far (row 0: before any
            training, the b_j of the GEM paper), column j - 1 = task j in executed
            order; NaN = not measured. A read-only copy is kept.

    Raises:
        InputError: The shape is wrong, or a value is outside [0, 1].

    >>> R = AccuracyMatrix([[0.5, 0.5], [0.9, 0.1], [0.5, 0.8]])  # before, after task 1, 2
    >>> R.tasks, R.cell(2, 1)
    (2, 0.5)
    >>> print(R)
    learned  task 1  task 2
          0    50.0    50.0
          1    90.0    10.0
          2    50.0    80.0
    """

    values: Floats

    def __post_init__(self) -> None:
        values = _numbers(self.values)
        if (
            values.ndim != 2
            or values.shape[0] != values.shape[1] + 1
            or values.shape[1] < 1
        ):
            raise InputError(
                "R must be (T+1, T), a row before training and one after each task, "
                f"got {values.shape}: use AccuracyMatrix.square for (T, T)"
            )
        # NaN is neither: a cell that was not measured passes.
        bad = np.argwhere((values < 0) | (values > 1))
        if len(bad):
            i, j = (int(k) for k in bad[0])
            raise InputError(
                f"R[{i},{j + 1}] = {values[i, j]} is outside [0, 1]: give fractions, "
                "or percent with --percent"
            )
        # A frozen dataclass lets nobody set `values`; this keeps its cells from being
        # set, too.
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, values: "AccuracyMatrix | ArrayLike") -> "AccuracyMatrix":
        """Convert an array to a matrix.

        Args:
            values: A matrix, which is returned as it is, or a (T+1, T) or (T, T) array
                or list of rows.

        Raises:
            InputError: The shape is wrong, or a value is outside [0, 1].
        """
        if isinstance(values, AccuracyMatrix):
            return values
        table = _numbers(values)
        return (
            cls.square(table)
            if table.ndim == 2 and len(table) == table.shape[1]
            else cls(table)
        )

    @classmethod
    def square(cls, values: ArrayLike) -> "AccuracyMatrix":
        """Build R from a (T, T) matrix without the row before any training, which stays NaN.

        Args:
            values: Accuracies (T, T) in [0, 1].

        Returns:
            The matrix R, (T+1, T).

        Raises:
            InputError: The shape is wrong, or a value is outside [0, 1].
        """
        table = _numbers(values)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise InputError(
                f"expected a square (T, T) matrix, got shape {table.shape}"
            )
        return cls(np.vstack([np.full((1, table.shape[1]), np.nan), table]))

    @classmethod
    @checked
    def of_predictions(
        cls, runs: Sequence[TaskPredictions], mean: Mean = "examples"
    ) -> "AccuracyMatrix":
        """Build R from the evaluations of one run.

        Args:
            runs: The T+1 evaluations, tasks in executed order. A task without test
                examples is a column of NaN.
            mean: The mean over a task's test examples, or over its classes' accuracies,
                as in Kemker 2018 for unbalanced classes.
        """
        return cls(_numbers([run.accuracies(mean) for run in runs]))

    def __str__(self) -> str:
        """Return R in percent: a line for each number of tasks learned, a column for each task."""
        cells = [
            ["-" if x != x else f"{100 * x:.1f}" for x in row] for row in self.values
        ]
        titles = ["learned", *(f"task {j}" for j in range(1, self.tasks + 1))]
        table = [titles, *([str(i), *row] for i, row in enumerate(cells))]
        return "\n".join(aligned(table, str.rjust))

    @property
    def tasks(self) -> int:
        """The number of tasks T."""
        return int(self.values.shape[1])

    @cached_property
    def _has_gaps(self) -> bool:
        return bool(np.isnan(self.values).any())

    def measured(self, i: ArrayLike, j: ArrayLike) -> Floats:
        """Return cells of R.

        Args:
            i: Indices of rows, 0..T.
            j: Numbers of tasks, 1..T.

        Returns:
            R[i, j], in the shape to which i and j broadcast.

        Raises:
            NotMeasured: A cell is NaN; the message names the first.
            InputError: A cell is outside the matrix.
        """
        # By flat indices, as plain indexing would count a negative i or j from the end.
        try:
            flat = np.ravel_multi_index(
                (np.asarray(i), np.subtract(j, 1)), self.values.shape
            )
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"R[i,j] needs i in 0..{self.tasks}, j in 1..{self.tasks}"
            ) from None
        cells = np.asarray(self.values.take(flat))
        if self._has_gaps and (missing := np.isnan(cells)).any():
            row, column = divmod(int(np.asarray(flat)[missing][0]), self.tasks)
            when = f"after task {row}" if row else "before any training"
            raise NotMeasured(
                f"R[{row},{column + 1}] (task {column + 1} {when}) was not measured"
            )
        return cells

    @checked
    def cell(self, i: int, j: int) -> float:
        """Return R[i, j].

        Args:
            i: The number of tasks learned, 0..T.
            j: The task, 1..T.

        Returns:
            The accuracy.

        Raises:
            NotMeasured: The cell is NaN.
        """
        return float(self.measured(i, j))

    def seen(self, k: int) -> Floats:
        """Return the accuracies R[k, 1..k], (k,), on the tasks learned so far.

        Args:
            k: The number of tasks learned, 1 to T.

        Returns:
            The accuracies on these tasks.

        Raises:
            NotMeasured: A cell is NaN.
        """
        k = self.check_task(k)
        return self.measured(k, np.arange(1, k + 1))

    def check_reference(
        self, reference: "AccuracyMatrix | ArrayLike", name: str = "the reference"
    ) -> "AccuracyMatrix":
        """Return the matrix of a reference learner; raises InputError unless it has as many tasks.

        Args:
            reference: Accuracy matrix, (T+1, T).
            name: Its name in the message.
        """
        other = AccuracyMatrix.of(reference)
        if other.tasks != self.tasks:
            raise InputError(
                f"{name} has {other.tasks} tasks, expected {self.tasks}: give as many"
            )
        return other

    def check_task(self, k: int | None, name: str = "k") -> int:
        """Check that k is a number of tasks in 1..T.

        Args:
            k: The number, None = T.
            name: The name of the number in the message.

        Returns:
            k, or T if k is None.

        Raises:
            InputError: k is not in 1..T.
        """
        try:
            k = self.tasks if k is None else index(k)
        except TypeError:
            raise InputError(f"{name} must be a task's number, got {k!r:.60}") from None
        if not 1 <= k <= self.tasks:
            raise InputError(
                f"{name} = {k} is not a task's number: R has tasks 1..{self.tasks}"
            )
        return k

    def mean(self, i: ArrayLike, j: ArrayLike) -> float:
        """Return the mean of cells of R.

        Args:
            i: Indices of rows, as in `measured`.
            j: Numbers of tasks, as in `measured`.

        Raises:
            NotMeasured: A cell is missing, or there are no cells, as above the diagonal
                of T = 1.
        """
        cells = self.measured(i, j)
        if not cells.size:
            raise NotMeasured(
                f"no cell to average (T = {self.tasks}): at least 2 tasks are needed"
            )
        return float(cells.sum() / cells.size)


def _numbers(values: ArrayLike) -> Floats:
    try:
        if np.iscomplexobj(values):
            raise TypeError
        masked = np.ma.asarray(values, dtype=np.float64)
        return masked.filled(np.nan).copy()
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise InputError(
            "R must have rows of T fractions, "
            f"got {values!r:.60}: give NaN where nothing was measured"
        ) from None
