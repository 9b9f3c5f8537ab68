"""A user's own metrics of R: their numbers, and why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe.errors import described
from probe.metrics.matrix import AccuracyMatrix
from scenarios.own_code import REGISTRY


@dataclass(frozen=True, kw_only=True)
class OwnScores:
    """The numbers by name, all finite, and a sentence for each metric that gave none."""

    values: dict[str, float]
    notes: tuple[str, ...]


def own_scores(R: AccuracyMatrix) -> OwnScores:
    """Return what the registered metrics say of R, (T+1, T).

    One that fails, or gives no finite number, costs a study no other table: it has a note.
    """
    values: dict[str, float] = {}
    notes: list[str] = []
    for own in REGISTRY.metrics.values():
        try:
            value = float(own.score(R))
        except Exception as error:
            notes.append(f"the metric {own.name} raised {described(error)}")
            continue
        if math.isfinite(value):
            values[own.name] = value
        else:
            notes.append(f"the metric {own.name} gave {value}, expected a finite number")
    return OwnScores(values=values, notes=tuple(notes))
