"""The confusion matrix, which a measurement stores so that a new metric needs no retraining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probe.errors import InputError


@dataclass(frozen=True, eq=False, init=False)
class Counts:
    """The confusion matrix of one evaluation, over the whole test set.

    Only cells that are not 0 are stored, as there are few of them with thousands of classes:
    `cells`, (n,) int64, are their indices, row by row, and `numbers`, (n,) int64, the counts in
    them.

    Args:
        table: (K, K) whole numbers, true class x predicted class; their sum is the number of test
            examples.

    Raises:
        InputError: The table has another shape, or anything but whole numbers from 0.

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
    def of(cls, true: ArrayLike, predicted: ArrayLike, classes: int) -> Counts:
        """Count N pairs of labels in 0..K-1.

        Args:
            true: The labels, (N,) whole numbers.
            predicted: The predicted classes, (N,) whole numbers.
            classes: K.

        Returns:
            The counts.

        Raises:
            InputError: The labels are not of this form.
        """
        return ConfusionCounts.of(true, predicted, classes, [np.asarray(true).size]).total()

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
        true, predicted = np.divmod(self.cells, self.classes)
        own = slice(None) if classes is None else np.isin(true, self._rows(classes))
        # Whole numbers until the one division: the fraction is the nearest float there is.
        seen, right = self.numbers[own].sum(), self.numbers[own][(true == predicted)[own]].sum()
        return int(right) / int(seen) if seen else float("nan")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, bytes, bytes]:
        return self.classes, self.cells.tobytes(), self.numbers.tobytes()

    def _keep(self, classes: int, cells: NDArray[np.int64], numbers: NDArray[np.int64]) -> Counts:
        # What is measured once must not change.
        cells.flags.writeable = numbers.flags.writeable = False
        vars(self).update(classes=classes, cells=cells, numbers=numbers)
        return self

    def _rows(self, classes: Sequence[int]) -> list[int]:
        rows = list(classes)
        if any(not 0 <= c < self.classes for c in rows):
            raise InputError(f"classes must lie in 0..{self.classes - 1}, got {rows}")
        return rows


class ConfusionCounts(Sequence[Counts]):
    """Confusion matrices of n tasks over the same K classes, kept as one: there may be thousands.

    Attributes:
        classes: K.
        cells: (m,) int64, the indices of cells that are not 0, through all n matrices, ascending.
        numbers: (m,) int64, the counts in them.
    """

    def __init__(
        self, n: int, classes: int, cells: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> None:
        self._n, self.classes, self.cells, self.numbers = n, classes, cells, numbers
        cells.flags.writeable = numbers.flags.writeable = False

    @classmethod
    def of(
        cls, true: ArrayLike, predicted: ArrayLike, K: int, sizes: Sequence[int]
    ) -> ConfusionCounts:
        """Count pairs of labels separately for consecutive parts.

        Args:
            true: The labels, (N,).
            predicted: The predicted classes, (N,).
            K: The number of classes.
            sizes: The sizes of the parts.

        Returns:
            The counts.

        Raises:
            InputError: As `Counts.of`.
        """
        y, p = (np.asarray(labels) for labels in (true, predicted))
        if y.shape != p.shape or y.ndim != 1:
            raise InputError(f"expected two label vectors of one length, got {y.shape}, {p.shape}")
        if y.size and not (y.dtype.kind in "biu" and p.dtype.kind in "biu"):
            raise InputError(f"labels must be whole numbers, got {y.dtype} and {p.dtype}")
        y, p = y.astype(np.int64), p.astype(np.int64)
        if y.size and (min(y.min(), p.min()) < 0 or max(y.max(), p.max()) >= K):
            raise InputError(f"labels must lie in 0..{K - 1}, the {K} classes counted")
        rows = np.repeat(np.arange(len(sizes)), sizes) * K + y
        return cls(len(sizes), K, *np.unique(rows * K + p, return_counts=True))

    @classmethod
    def joined(cls, tables: Sequence[Counts]) -> ConfusionCounts:
        """Return confusion matrices of the same classes together."""
        if isinstance(tables, ConfusionCounts):
            return tables
        K = tables[0].classes
        starts = np.repeat(np.arange(len(tables)) * K * K, [len(own.cells) for own in tables])
        cells, numbers = (
            np.concatenate([getattr(own, name) for own in tables]) for name in ("cells", "numbers")
        )
        return cls(len(tables), K, cells + starts, numbers)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, at: Any) -> Any:
        at, size = range(self._n)[at], self.classes**2
        own = slice(*np.searchsorted(self.cells, [at * size, (at + 1) * size]))
        return object.__new__(Counts)._keep(
            self.classes, self.cells[own] - at * size, self.numbers[own]
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def total(self) -> Counts:
        """Return the counts of all together."""
        if self._n == 1:
            return object.__new__(Counts)._keep(self.classes, self.cells, self.numbers)
        cells, at = np.unique(self.cells % self.classes**2, return_inverse=True)
        return object.__new__(Counts)._keep(
            self.classes, cells, sums_at(at, self.numbers, len(cells))
        )


def margins(tables: Sequence[Counts]) -> list[NDArray[np.int64]]:
    """Return how often each class is true, is predicted and is both, (n, K) each, in n tables."""
    joined = ConfusionCounts.joined(tables)
    n, K, numbers = len(joined), joined.classes, joined.numbers
    rows, predicted = np.divmod(joined.cells, K)
    at, true = np.divmod(rows, K)
    hit = true == predicted
    each = (rows, numbers), (at * K + predicted, numbers), (rows[hit], numbers[hit])
    return [sums_at(places, own, n * K).reshape(n, K) for places, own in each]


def sums_at(at: NDArray[np.int64], numbers: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Sum numbers exactly by index.

    Args:
        at: The index of each number, 0..size - 1.
        numbers: The numbers.
        size: The number of sums.

    Returns:
        The sums, (size,).
    """
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, at, numbers)
    return sums
