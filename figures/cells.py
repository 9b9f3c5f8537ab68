"""Heat maps: cells, whole or in halves, and the panels of `layers`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import AsinhNorm, Colormap, ListedColormap
from matplotlib.text import Text

from figures.tables import CONTROLS, Tables
from probe.tables.rows import LayerRow, grouped

LINEAR = 2.0
"""Points up to which scales are about linear; beyond, each factor takes the same room."""

READOUTS = ("retrain", "linear", "linear-task")
"""Readouts that have panels, in this order; the later ones only where they fit on the page."""

GAP = 0.3
"""Of the row of all tasks, between the last task and it."""

WEAK = "0.45"
"""Color of a number whose interval holds 0."""

_HALVES = ("never_learned", "forgotten")
_MARGIN = 0.03  # of a cell, left white around each with a number
_ROWS = 13  # more are so thin that the one of all tasks is made higher


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell, 1 wide and `high` high, by its left and upper end, in points.

    total: the number in the middle; values: those side by side that add up to it, or it alone;
    weak: whether its interval holds 0; below: whether it is surely less accurate than untrained.
    """

    x: float
    y: float
    total: float
    values: Sequence[float]
    weak: bool
    below: bool
    high: float = 1

    def parts(self) -> list[tuple[float, float, float]]:
        """Return left end, right end and value of each of its parts."""
        edges = np.linspace(self.x + _MARGIN, self.x + 1 - _MARGIN, len(self.values) + 1).tolist()
        return [(*ends, v) for ends, v in zip(pairwise(edges), self.values, strict=True)]


@cache  # matplotlib computes a colormap anew for each
def shades(*, below: bool) -> Colormap:
    """Return the colors from -100 to 100 points, with white at 0.

    Purple is negative and orange positive; of cells below untrained, positive is teal. These three
    are told apart by color-blind readers, purple and teal the least, and no cell below untrained
    is above the ceiling.
    """
    upper = matplotlib.colormaps["BrBG" if below else "PuOr_r"]
    ends = np.linspace(0, 1, 256)
    lower = matplotlib.colormaps["PuOr_r"](ends[:128])
    return ListedColormap(np.concatenate([lower, upper(ends[128:])]))


def draw_cells(axes: Axes, cells: Sequence[Cell], *, texts: bool) -> PolyCollection:
    """Draw cells in colors on a scale that is the same in all figures; return the mesh.

    texts: whether each cell shows its total, in whole numbers.
    """
    for below in (True, False):
        parts = [(cell, part) for cell in cells for part in cell.parts() if cell.below == below]
        margin = _MARGIN * texts
        boxes = [_box(left, right, cell, margin) for cell, (left, right, _) in parts]
        edge = {"edgecolor": "white", "linewidth": 0.3} if texts else {"linewidth": 0}
        mesh = PolyCollection(boxes, cmap=shades(below=below), norm=_scale(), **edge)
        mesh.set_array(np.array([value for _, (_, _, value) in parts]))
        axes.add_collection(mesh)
    for cell in cells if texts else ():
        _write_total(axes, cell)
    return mesh


@cache
def _scale() -> AsinhNorm:
    return AsinhNorm(linear_width=LINEAR, vmin=-100, vmax=100)


def _write_total(axes: Axes, cell: Cell) -> None:
    """Write the number of a cell, on white where a half is of another brightness."""
    colors = [shades(below=cell.below)(float(_scale()(value))) for value in cell.values]
    inks = {ink(color) for color in colors}
    # Rounded to a whole number: of a float, -0.2 would be -0.
    number = write(axes, cell.x + 0.5, cell.y + 0.5, str(round(cell.total)), colors[0])
    number.set_verticalalignment("center_baseline")
    if cell.weak or len(inks) > 1:
        number.set_color(WEAK if cell.weak else "black")
        # No outline: it would turn the text of an SVG into paths.
        number.set_bbox({"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.4})


def write(axes: Axes, x: float, y: float, number: str, color: Sequence[float]) -> Text:
    """Write a number into the middle of a cell of that color, black or white."""
    size, ground = digits_size(), ink(color)
    text = axes.text(x, y, number, color=ground, size=size, ha="center", va="center")
    text.set_in_layout(False)  # it lies within the panel, which is much to find out
    return text


def strip(axes: Axes, ticks: float = 0) -> None:
    """Take grid and frame off a heat map, and its ticks but for so many points."""
    axes.tick_params(length=ticks)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


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


def _box(left: float, right: float, cell: Cell, margin: float) -> list[tuple[float, float]]:
    """Return the corners of a part of a cell, but for the margin."""
    low, high = cell.y + margin, cell.y + cell.high - margin
    return [(left, low), (right, low), (right, high), (left, high)]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A learner under a readout.

    features: names in order of depth; places: of the tasks, None for all of them; cells: those that
    were measured; forgets: the first feature shown to forget, "" = none; unsure: the features on
    which nothing is stated.
    """

    learner: str
    readout: str
    features: list[str]
    places: list[int | None]
    cells: list[Cell]
    forgets: str
    unsure: Sequence[str]


def missing_panels(tables: Tables) -> list[Panel]:
    """Return the panels to be drawn, in the order of the table."""
    own = (r for r in tables.layers if r.readout in READOUTS and r.learner not in CONTROLS)
    groups = grouped(own, "learner", "readout")
    first_layer = {
        (r.learner, r.readout): r.first_confirmed
        for r in tables.first_layer
        if r.statement == "forgets"
    }
    panels = [_panel(rows, first_layer.get(key, ""), tables) for key, rows in groups.items()]
    return [panel for panel in panels if panel.cells]


def _panel(rows: Sequence[LayerRow], forgets: str, tables: Tables) -> Panel:
    """Return the panel of the rows of a learner and readout."""
    features = list(dict(sorted((row.depth, row.feature) for row in rows)).values())
    own = {(r.feature, r.task_position, r.quantity): r for r in rows if not math.isnan(r.value)}
    places = sorted({p for _, p, name in own if name == "missing"}, key=lambda p: p or math.inf)
    cells, high = [], max(1.0, len(places) / _ROWS)
    for x, feature in enumerate(features):
        for y, task_position in enumerate(places):
            if row := own.get((feature, task_position, "missing")):
                halves = [own[key] for q in _HALVES if (key := (feature, task_position, q)) in own]
                # Over all tasks the halves are means over different positions.
                whole = task_position is None or len(halves) < 2
                above = own.get((feature, task_position, "above_floor"))
                cell = Cell(
                    x=x,
                    y=y + GAP * high * (task_position is None),
                    high=1 if task_position else high,
                    total=100 * row.value,
                    values=[100 * each.value for each in ([row] if whole else halves)],
                    # NaN, as of one seed, holds nothing.
                    weak=row.low <= 0 <= row.high,
                    below=above is not None and above.high < 0,
                )
                cells.append(cell)
    return Panel(
        learner=rows[0].learner,
        readout=rows[0].readout,
        features=features,
        places=places,
        cells=cells,
        forgets=forgets,
        unsure=[f for f in features if (rows[0].learner, rows[0].readout, f) in tables.unsure],
    )
