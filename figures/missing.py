"""Panels of the heat map `layers`, one for each learner and readout."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from figures.cells import Cell
from figures.tables import CONTROLS, Tables
from probe.tables.rows import LayerRow

READOUTS = ("retrain", "linear")
"""Readouts that have panels, in this order; the later ones only where they fit on the page."""

GAP = 0.3
"""Of a cell, between the last task and all tasks."""

_HALVES = ("forgotten", "never_learned")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A learner under a readout.

    features: names in order of depth; places: of the tasks, None for all of them; cells: those that
    were measured, in points; split: whether all steps were measured in a feature other than the
    output; start: the feature at which forgetting starts.
    """

    learner: str
    readout: str
    features: list[str]
    places: list[int | None]
    cells: list[Cell]
    split: bool
    start: str


def missing_panels(tables: Tables) -> list[Panel]:
    """Return the panels to be drawn, in the order of the table."""
    groups = defaultdict[tuple[str, str], list[LayerRow]](list)
    for row in tables.layers:
        if row.readout in READOUTS and row.learner not in CONTROLS:
            groups[row.learner, row.readout].append(row)
    starts = {(row.learner, row.readout): row.feature for row in tables.starts}
    panels = [_panel(rows, starts.get(key, "")) for key, rows in groups.items()]
    return [panel for panel in panels if panel.cells]


def _panel(rows: Sequence[LayerRow], start: str) -> Panel:
    """Return the panel of the rows of a learner and readout."""
    features = list(dict(sorted((row.depth, row.feature) for row in rows)).values())
    measured = {row.place for row in rows if row.quantity == "missing"}
    places = sorted(measured, key=lambda place: place or math.inf)
    values = {(row.feature, row.place, row.quantity): row.value for row in rows}

    def points(feature: str, place: int | None, quantities: Sequence[str]) -> list[float]:
        """Return quantities of a cell, none where any is unknown."""
        found = [100 * values.get((feature, place, name), math.nan) for name in quantities]
        return [] if any(map(math.isnan, found)) else found

    split = any(points(feature, place, _HALVES) for feature in features[:-1] for place in places)
    cells = [
        Cell(
            x=x,
            y=y + GAP * (place is None),
            values=(points(feature, place, _HALVES) if split else []) or missing,
            hatched=math.isnan(values.get((feature, place, "retained"), 0.0)),
        )
        for x, feature in enumerate(features)
        for y, place in enumerate(places)
        if (missing := points(feature, place, ["missing"]))
    ]
    return Panel(
        learner=rows[0].learner,
        readout=rows[0].readout,
        features=features,
        places=places,
        cells=cells,
        split=split,
        start=start,
    )
