"""The confusion matrix of an evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probe.arguments import checked
from probe.arrays import Ints
from probe.errors import InputError


@dataclass(frozen=True, eq=False, init=False)
class Counts:
    """The confusion matrix of one evaluation, over the whole test set.

    Args:
        table: Whole numbers (K, K), true class x predicted class; their sum is the
            number of test examples.

    Raises:
        InputError: The table is not square, or holds anything but whole numbers from 0.

    >>> Counts.of([0, 0, 1], [0, 1, 1], classes=2).accuracy()
    0.6666666666666666
    """

    table: Ints

    def __init__(self, table: ArrayLike) -> None:
        try:
            counts = np.asarray(table)
        except (ValueError, RuntimeError):
            raise InputError(
                "counts must be a (K, K) table: its rows differ in length"
            ) from None
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise InputError(
                f"counts must be a square (K, K) table, got shape {counts.shape}"
            )
        if counts.dtype.kind not in "iu" or (
            counts.dtype.kind == "i" and (counts < 0).any()
        ):
            got = counts.min() if counts.dtype.kind == "i" else f"dtype {counts.dtype}"
            raise InputError(f"counts must be whole numbers, none below 0, got {got}")
        copy = counts.astype(np.int64)
        copy.flags.writeable = False  # a measurement does not change
        object.__setattr__(self, "table", copy)

    @classmethod
    @checked
    def of(cls, true: ArrayLike, predicted: ArrayLike, classes: int) -> "Counts":
        """Count N pairs of labels.

        Args:
            true: The labels, (N,) whole numbers from 0 to K - 1.
            predicted: The predicted classes, (N,) whole numbers from 0 to K - 1.
            classes: Number of classes K.

        Returns:
            The counts.

        Raises:
            InputError: The labels are anything else.
        """
        y, p = checked_labels(true, predicted, classes)
        return cls(
            np.bincount(y * classes + p, minlength=classes**2).reshape(classes, classes)
        )

    @property
    def classes(self) -> int:
        """The number of classes K."""
        return len(self.table)

    @property
    def total(self) -> int:
        """The number of test examples counted."""
        return int(self.table.sum())

    @checked
    def accuracy(self, classes: Sequence[int] | None = None) -> float:
        """Return the fraction of correct predictions for the examples of `classes`, all by default.

        The value is in [0, 1]; higher is better; NaN if there is no such example.
        Classes are weighted by their number of examples; `TaskPredictions.accuracies`
        has the unweighted mean.
        """
        labels = list(range(self.classes) if classes is None else classes)
        if any(not 0 <= label < self.classes for label in labels):
            raise InputError(f"classes must lie in 0..{self.classes - 1}, got {labels}")
        # Whole numbers until the one division: the fraction is the nearest float there
        # is.
        total = int(self.table[labels].sum())
        return int(self.table[labels, labels].sum()) / total if total else float("nan")

    @checked
    def precision(self, classes: Sequence[int]) -> float:
        """Return the fraction of correct predictions among those of `classes` (Murata 2020, eq. 3).

        The value is in [0, 1]; higher is better; NaN if none of them was predicted. The
        recall of eq. 2 is `accuracy`.
        """
        return Counts(self.table.T).accuracy(classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash(self.table.tobytes())


def checked_labels(
    true: ArrayLike, predicted: ArrayLike, classes: int
) -> tuple[Ints, Ints]:
    """Return labels and predictions, (N,) each; raises InputError unless they are 0 to K - 1."""
    try:
        y = np.asarray(true)
        p = np.asarray(predicted)
    except (ValueError, RuntimeError):
        raise InputError(
            "labels and predictions must be vectors of numbers: their entries differ "
            "in length, or are no numbers"
        ) from None
    if y.shape != p.shape or y.ndim != 1:
        raise InputError(
            "labels and predictions must be vectors of the same length, "
            f"got shapes {y.shape} and {p.shape}"
        )
    if y.size and not (y.dtype.kind in "biu" and p.dtype.kind in "biu"):
        raise InputError(
            f"labels must be whole numbers, got dtypes {y.dtype} and {p.dtype}"
        )
    y = y.astype(np.int64)
    p = p.astype(np.int64)
    if y.size and (min(y.min(), p.min()) < 0 or max(y.max(), p.max()) >= classes):
        raise InputError(
            f"labels must lie in 0..{classes - 1}, "
            f"got {min(y.min(), p.min())} to {max(y.max(), p.max())}"
        )
    return y, p
