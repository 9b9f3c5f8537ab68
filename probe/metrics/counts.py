"""The confusion matrix, which a measurement stores so that a new metric needs no retraining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probe.errors import InputError


@dataclass(frozen=True, eq=False, init=False)
class Counts:
    """The confusion matrix of one evaluation, over the whole test set.

    table: (K, K) int64, true class x predicted class; its sum is the number of test examples. Only
    its cells that are not 0 are kept, as of thousands of classes few are: `cells`, (n,) int64, are
    their numbers, counted row by row, and `numbers`, (n,) int64, the counts in them. Raises
    InputError for another shape and for anything but whole numbers from 0.

    >>> Counts.of([0, 0, 1], [0, 1, 1], classes=2).accuracy()
    0.6666666666666666
    """

    classes: int
    cells: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def __init__(self, table: ArrayLike) -> None:
        given = np.asarray(table)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise InputError(f"counts must be a square (K, K) table, got shape {given.shape}")
        if given.dtype.kind not in "iu" or (given.dtype.kind == "i" and (given < 0).any()):
            raise InputError("counts must be whole numbers, none below 0")
        cells = np.flatnonzero(given)
        self._keep(len(given), cells, given.reshape(-1)[cells].astype(np.int64))

    @classmethod
    def each(
        cls, tables: int, classes: int, cells: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> tuple[Counts, ...]:
        """Return the counts in n = tables confusion matrices, (n, K, K), from their cells.

        cells: those that are not 0, counted through all of them, ascending; numbers: in each.
        """
        at, own = np.divmod(cells, classes * classes)
        ends = np.searchsorted(at, np.arange(tables + 1)).tolist()
        # Large studies read thousands of them: the checks of a table would take longer than all
        # else.
        each = tuple(object.__new__(cls) for _ in range(tables))
        for counts, start, end in zip(each, ends, ends[1:], strict=False):
            counts._keep(classes, own[start:end], numbers[start:end])
        return each

    @classmethod
    def of(cls, true: ArrayLike, predicted: ArrayLike, classes: int) -> Counts:
        """Count N pairs of labels in 0..K-1, K = classes.

        true, predicted: (N,) whole numbers. Raises InputError for anything else.
        """
        y, p = (np.asarray(labels) for labels in (true, predicted))
        if y.shape != p.shape or y.ndim != 1:
            raise InputError(f"expected two label vectors of one length, got {y.shape}, {p.shape}")
        if y.size and not (y.dtype.kind in "biu" and p.dtype.kind in "biu"):
            raise InputError(f"labels must be whole numbers, got {y.dtype} and {p.dtype}")
        y, p = y.astype(np.int64), p.astype(np.int64)
        if y.size and (min(y.min(), p.min()) < 0 or max(y.max(), p.max()) >= classes):
            raise InputError(f"labels must lie in 0..{classes - 1}, the {classes} classes counted")
        cells, numbers = np.unique(y * classes + p, return_counts=True)
        return cls.each(1, classes, cells, numbers)[0]

    @classmethod
    def summed(cls, tables: Sequence[Counts]) -> Counts:
        """Return the counts of all n tables together."""
        K = tables[0].classes
        cells, numbers = joined(tables)
        there, at = np.unique(cells % (K * K), return_inverse=True)
        return cls.each(1, K, there, sums_at(at, numbers, len(there)))[0]

    @property
    def table(self) -> NDArray[np.int64]:
        """The confusion matrix, (K, K), which cannot be written."""
        table = sums_at(self.cells, self.numbers, self.classes**2)
        table.flags.writeable = False
        return table.reshape(self.classes, self.classes)

    @property
    def total(self) -> int:
        """The number of test examples counted."""
        return int(self.numbers.sum())

    def accuracy(self, classes: Sequence[int] | None = None) -> float:
        """Return the fraction of correct predictions for the examples of `classes`, all by default.

        In [0, 1]; higher is better; NaN if there is no such example. Weights classes by their
        number of examples; see `TaskCounts.accuracies` for the mean that does not.
        """
        true, _, right = (sums[0] for sums in margins([self]))
        rows = self._rows(classes)
        # Whole numbers until the one division: the fraction is the nearest float there is.
        seen = int(true[rows].sum())
        return int(right[rows].sum()) / seen if seen else float("nan")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts) or self.classes != other.classes:
            return False
        return np.array_equal(joined([self]), joined([other]))

    def __hash__(self) -> int:
        return hash((self.classes, self.cells.tobytes(), self.numbers.tobytes()))

    def _keep(self, classes: int, cells: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        # What is measured once must not change.
        cells.flags.writeable = numbers.flags.writeable = False
        vars(self).update(classes=classes, cells=cells, numbers=numbers)

    def _rows(self, classes: Sequence[int] | None) -> list[int]:
        if classes is None:
            return list(range(self.classes))
        rows = list(classes)
        if any(not 0 <= c < self.classes for c in rows):
            raise InputError(f"classes must lie in 0..{self.classes - 1}, got {rows}")
        return rows


def joined(tables: Sequence[Counts]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells of n tables, counted through all of them, and their counts; see `each`."""
    size = tables[0].classes ** 2
    starts = np.repeat(np.arange(len(tables)) * size, [len(own.cells) for own in tables])
    cells = np.concatenate([own.cells for own in tables])
    return cells + starts, np.concatenate([own.numbers for own in tables])


def margins(tables: Sequence[Counts]) -> list[NDArray[np.int64]]:
    """Return how often each class is true, is predicted and is both, (n, K) each, in n tables."""
    cells, numbers = joined(tables)
    classes = tables[0].classes
    rows, predicted = np.divmod(cells, classes)
    at, true = np.divmod(rows, classes)
    places = rows, at * classes + predicted, rows[hit := true == predicted]
    each = zip(places, (numbers, numbers, numbers[hit]), strict=True)
    return [sums_at(own, n, len(tables) * classes).reshape(-1, classes) for own, n in each]


def sums_at(at: NDArray[np.int64], numbers: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the sums of the numbers at each of 0..size - 1, exactly."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, at, numbers)
    return sums
