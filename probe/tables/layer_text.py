"""What is printed of layers: a line of a table for each, and a sentence on where it starts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from probe.tables.rows import LayerRow, StartRow

COLUMNS = ("accuracy", "floor", "ceiling", "missing", "retained")
"""What stands in a layer's line, in %, behind the feature's name."""

Rows = dict[str, LayerRow]
"""The rows of one feature and all tasks, by quantity."""


def start_sentence(row: StartRow) -> str:
    """Say where in depth a learner's forgetting starts.

    >>> row = StartRow(learner="er", readout="retrain", feature="conv3", earliest="conv2",
    ...                margin=0.01, value=0.379, low=0.301, high=0.457, seeds=3)
    >>> start_sentence(row).split(" (")[0]
    'er: forgetting starts at conv3'
    >>> start_sentence(row).split(" (")[1]
    '37.9 points below the ceiling, 95 % interval 30.1 to 45.7; at conv2 at the earliest)'
    """
    margin = f"{100 * row.margin:g} point{'' if round(100 * row.margin, 6) == 1 else 's'}"
    if row.seeds == 1:
        return f"{row.learner}: one seed: no interval"
    if not row.feature:
        may = f" for certain; the first that may is {row.earliest}" if row.earliest else ""
        return f"{row.learner}: no layer lacks more than {margin}{may}"
    earliest = (
        f"; at {row.earliest} at the earliest" if row.earliest not in ("", row.feature) else ""
    )
    value, low, high = (f"{100 * number:.1f}" for number in (row.value, row.low, row.high))
    return (
        f"{row.learner}: forgetting starts at {row.feature} ({value} points below the ceiling, "
        f"95 % interval {low} to {high}{earliest})"
    )


def by_feature(layers: Iterable[LayerRow]) -> dict[str, Rows]:
    """Return the rows of one learner by feature, in order of depth, and by quantity."""
    found: dict[str, Rows] = {}
    for row in sorted(layers, key=lambda row: row.depth):
        found.setdefault(row.feature, {})[row.quantity] = row
    return found


def layer_cells(found: Rows) -> tuple[str, ...]:
    """Return what stands in a layer's line, a cell for each of `COLUMNS`."""
    return (
        _percent(found.get("accuracy"), interval=True),
        _percent(found.get("floor")),
        _percent(found.get("ceiling")),
        _percent(found.get("missing")),
        _retained(found.get("retained")),
    )


def _percent(row: LayerRow | None, *, interval: bool = False, digits: int = 1) -> str:
    """Return a value in percent, with its interval or without, or a dash for no value."""
    if row is None or math.isnan(row.value):
        return "-"
    value, low, high = (f"{100 * x:.{digits}f}" for x in (row.value, row.low, row.high))
    return f"{value} [{low}, {high}]" if interval and not math.isnan(row.low) else value


def _retained(row: LayerRow | None) -> str:
    """Return what was retained, in whole percent, or that it cannot be told."""
    if row is not None and math.isnan(row.value):
        return "not identifiable"
    return _percent(row, interval=True, digits=0)
