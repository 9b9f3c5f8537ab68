"""The confusion matrix, which a measurement stores so that a new metric needs no retraining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probe.errors import InputError


@dataclass(frozen=True, eq=False)
class Counts:
    """The confusion matrix of one evaluation, over the whole test set.

    table: (K, K) int64, true class x predicted class; its sum is the number of test examples. It is
    kept as a copy that cannot be written. Raises InputError for another shape and for anything but
    whole numbers from 0.

    >>> Counts.of([0, 0, 1], [0, 1, 1], classes=2).accuracy()
    0.6666666666666666
    """

    table: NDArray[np.int64]

    def __post_init__(self) -> None:
        given = np.asarray(self.table)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise InputError(f"counts must be a square (K, K) table, got shape {given.shape}")
        object.__setattr__(self, "table", _read_only(given))

    @classmethod
    def each(cls, tables: ArrayLike) -> tuple[Counts, ...]:
        """Return the counts in each of n tables, (n, K, K), all checked and copied at once."""
        given = np.asarray(tables)
        if given.ndim != 3 or given.shape[1] != given.shape[2]:
            raise InputError(f"counts must be square (n, K, K) tables, got shape {given.shape}")
        # Large studies read thousands of them: a constructor's checks for each would take longer
        # than all else.
        each = tuple(object.__new__(cls) for _ in given)
        for counts, table in zip(each, _read_only(given), strict=True):
            object.__setattr__(counts, "table", table)
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
        # Each pair is the number of its cell, counted row by row.
        cells = np.bincount(y * classes + p, minlength=classes * classes)
        return cls(cells.reshape(classes, classes))

    @property
    def classes(self) -> int:
        """K, the number of classes."""
        return int(self.table.shape[0])

    @property
    def total(self) -> int:
        """The number of test examples counted."""
        return int(self.table.sum())

    def accuracy(self, classes: Sequence[int] | None = None) -> float:
        """Return the fraction of correct predictions for the examples of `classes`, all by default.

        In [0, 1]; higher is better; NaN if there is no such example. Weights classes by their
        number of examples; see `TaskCounts.accuracies` for the mean that does not.
        """
        rows = self._rows(classes)
        # Whole numbers until the one division: the fraction is the nearest float there is.
        seen = int(self.table[rows].sum())
        right = int(self.table.diagonal()[rows].sum())
        return right / seen if seen else float("nan")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash(self.table.tobytes())

    def _rows(self, classes: Sequence[int] | None) -> list[int]:
        if classes is None:
            return list(range(self.classes))
        rows = list(classes)
        if any(not 0 <= c < self.classes for c in rows):
            raise InputError(f"classes must lie in 0..{self.classes - 1}, got {rows}")
        return rows


def _read_only(given: NDArray[Any]) -> NDArray[np.int64]:
    """Return a copy of counts, of any shape, that cannot be written."""
    if given.dtype.kind not in "iu" or (given.dtype.kind == "i" and (given < 0).any()):
        raise InputError("counts must be whole numbers, none below 0")
    # A copy: what is measured once must not change with the array that it was given in.
    copy = given.astype(np.int64)
    copy.flags.writeable = False
    return copy
