"""User-defined metrics of R: their values, or the reason why there is none."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from probe.errors import described
from probe.metrics.matrix import AccuracyMatrix
from probe.registered import OwnMetric

UserMetrics = Iterable[OwnMetric]
"""Metrics of an accuracy matrix that a user registered."""


@dataclass(frozen=True, kw_only=True)
class UserScores:
    """The values by name, all finite, and a sentence for each metric that gave none."""

    values: dict[str, float]
    notes: tuple[str, ...]


def user_scores(R: AccuracyMatrix, metrics: UserMetrics) -> UserScores:
    """Return the scores of R, (T+1, T), by user-defined metrics.

    A metric that fails, or gives no finite number, gets a note and affects no other table.
    """
    values: dict[str, float] = {}
    notes: list[str] = []
    for own in metrics:
        try:
            value = float(own.score(R))
        except Exception as error:
            notes.append(f"the metric {own.name} raised {described(error)}")
            continue
        if math.isfinite(value):
            values[own.name] = value
        else:
            notes.append(f"the metric {own.name} gave {value}, expected a finite number")
    return UserScores(values=values, notes=tuple(notes))
