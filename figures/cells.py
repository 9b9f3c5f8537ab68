"""Heat maps: cells, whole or in halves, hatched or not, and the panels of `layers`."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.text import Text

from figures.tables import CONTROLS, Tables
from probe.tables.rows import LayerRow

SHADES = "magma_r"
"""The colors from 0 to the top: perceptually uniform, and told apart by color-blind readers."""

HATCHED = "hatched"
"""Id of the hatching over cells."""

READOUTS = ("retrain", "linear")
"""Readouts that have panels, in this order; the later ones only where they fit on the page."""

GAP = 0.3
"""Of a cell, between the last task and all tasks."""

_HALVES = ("never_learned", "forgotten")
_MARGIN = 0.03  # of a cell, left white around each


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell, 1 wide and high, by its left and upper end: values side by side, hatched or not."""

    x: float
    y: float
    values: Sequence[float]
    hatched: bool

    def parts(self) -> list[tuple[float, float, float]]:
        """Return left end, right end and value of each of its parts."""
        edges = np.linspace(self.x + _MARGIN, self.x + 1 - _MARGIN, len(self.values) + 1).tolist()
        return [(*ends, v) for ends, v in zip(pairwise(edges), self.values, strict=True)]


def draw_cells(axes: Axes, cells: Sequence[Cell], *, top: float, texts: bool) -> PolyCollection:
    """Draw cells in colors from 0 to `top`; return the mesh.

    texts: whether each part shows its value, in whole numbers.
    """
    parts = [(cell, part) for cell in cells for part in cell.parts()]
    boxes = [_box(left, right, cell.y) for cell, (left, right, _) in parts]
    mesh = PolyCollection(boxes, cmap=SHADES, edgecolor="white", linewidth=0.3)
    values = np.array([value for _, (_, _, value) in parts])
    mesh.set_array(values)
    mesh.set_clim(0, top)
    axes.add_collection(mesh)
    _hatch(axes, [cell for cell in cells if cell.hatched])
    shades = mesh.to_rgba(values)
    for (cell, (left, right, value)), color in zip(parts, shades, strict=True) if texts else ():
        # Rounded to a whole number: of a float, -0.2 would be -0.
        number = write(axes, (left + right) / 2, cell.y + 0.5, str(round(value)), color)
        number.set_verticalalignment("center_baseline")
        if cell.hatched:
            # No hatching under a number.
            number.set_bbox({"facecolor": color, "linewidth": 0, "pad": 0.6})
    return mesh


def write(axes: Axes, x: float, y: float, number: str, color: Sequence[float]) -> Text:
    """Write a number into the middle of a cell of that color, black or white."""
    size, ground = digits_size(), ink(color)
    text = axes.text(x, y, number, color=ground, size=size, ha="center", va="center")
    text.set_in_layout(False)  # it lies within the panel, which is much to find out
    return text


def digits_size() -> float:
    """Return how high the numbers in cells are, in points: a little less than other texts."""
    size: float = matplotlib.rcParams["font.size"]
    return size * 7 / 7.5


def ink(background: Sequence[float]) -> str:
    """Return black or white, the one with the higher contrast (WCAG 2.1) on a color.

    background: sRGB in [0, 1], red, green and blue first.

    >>> ink((1.0, 1.0, 0.0)), ink((0.0, 0.0, 0.5))
    ('black', 'white')
    """
    # sRGB is not linear in light, of which contrast is a ratio.
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in background[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # Contrast is (lighter + 0.05) / (darker + 0.05): black's and white's are equal here.
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"


def _hatch(axes: Axes, cells: Iterable[Cell]) -> None:
    """Hatch cells; the lines are grey, to be seen on light and dark."""
    boxes = [_box(cell.x + _MARGIN, cell.x + 1 - _MARGIN, cell.y) for cell in cells]
    if boxes:
        over = PolyCollection(
            boxes, facecolor="none", edgecolor="0.45", linewidth=0, hatch="/////", zorder=2
        )
        over.set_gid(HATCHED)
        axes.add_collection(over)


def _box(left: float, right: float, top: float) -> list[tuple[float, float]]:
    """Return the corners of a box that is 1 high, but for the margin."""
    low, high = top + _MARGIN, top + 1 - _MARGIN
    return [(left, low), (right, low), (right, high), (left, high)]


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
    starts = {(r.learner, r.readout): r.latest for r in tables.starts if r.statement == "forgets"}
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
