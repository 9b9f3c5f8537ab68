"""What the rows say of each continual learner's accuracy: R, averaged, and under which head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from figures import heads, style
from probe.metrics.matrix import AccuracyMatrix
from probe.tables.rows import Row
from probe.tables.summary import mean_accuracies


@dataclass(frozen=True, kw_only=True)
class Accuracies:
    """The accuracies of a study under one head.

    matrices: by continual learner, R as the mean over seeds of means over orders; label: of an axis
    in percent.
    """

    matrices: Mapping[str, AccuracyMatrix]
    label: str

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Accuracies:
        """Average the rows of measure `accuracy`, which are all of one head."""
        measured = [row for row in rows if row.measure == "accuracy"]
        matrices = mean_accuracies(measured)
        matrices.pop(style.OFFLINE, None)
        return cls(matrices=matrices, label=heads.noted("Accuracy (%)", measured))
