"""Panels of the heat map `layers`, one for each learner and readout."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from figures.cells import Cell
from figures.tables import Tables, continual
from probe.tables.rows import LayerRow

READOUTS = ("retrain", "linear")
"""Readouts that have panels, in this order; the later ones only where they fit on the page."""

GAP = 0.3
"""Of a cell, between the last task and all tasks."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A learner under a readout.

    features: names by depth, in order of depth; places: of the tasks, None for all of them; values:
    by feature, place and quantity, fractions; start: the feature at which forgetting starts.
    """

    learner: str
    readout: str
    features: list[str]
    places: list[int | None]
    values: Mapping[tuple[str, int | None, str], float]
    start: str

    @property
    def split(self) -> bool:
        """Tell whether all steps were measured in a feature other than the output."""
        return any(self.halves(f, place) for f in self.features[:-1] for place in self.places)

    def halves(self, feature: str, place: int | None) -> list[float]:
        """Return the shares forgotten and never learned, nothing where they are unknown."""
        found = [
            self.values.get((feature, place, name), math.nan)
            for name in ("forgotten", "never_learned")
        ]
        return [] if any(map(math.isnan, found)) else found

    def cells(self) -> list[Cell]:
        """Return the measured cells, in points."""
        split, found = self.split, []
        for x, feature in enumerate(self.features):
            for y, place in enumerate(self.places):
                missing = self.values.get((feature, place, "missing"), math.nan)
                if not math.isnan(missing):
                    values = self.halves(feature, place) if split else []
                    retained = self.values.get((feature, place, "retained"), 0.0)
                    found.append(
                        Cell(
                            x=x,
                            y=y + GAP * (place is None),
                            values=[100 * value for value in values or [missing]],
                            hatched=math.isnan(retained),
                        )
                    )
        return found


def missing_panels(tables: Tables) -> list[Panel]:
    """Return the panels to be drawn, in the order of the table."""
    groups: dict[tuple[str, str], list[LayerRow]] = {}
    learners = set(continual(tables.layers))
    for row in tables.layers:
        if row.readout in READOUTS and row.learner in learners:
            groups.setdefault((row.learner, row.readout), []).append(row)
    starts = {(row.learner, row.readout): row.feature for row in tables.starts}
    found = []
    for (learner, readout), rows in groups.items():
        of_tasks = {row.place for row in rows if row.quantity == "missing"}
        places: list[int | None] = [*sorted(place for place in of_tasks if place)]
        panel = Panel(
            learner=learner,
            readout=readout,
            features=list(dict(sorted({row.depth: row.feature for row in rows}.items())).values()),
            places=places + ([None] if None in of_tasks else []),
            values={(row.feature, row.place, row.quantity): row.value for row in rows},
            start=starts.get((learner, readout), ""),
        )
        if panel.cells():
            found.append(panel)
    return found
