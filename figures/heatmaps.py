"""Heat maps: their cells, whole or in halves, and the panels of `layers`."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import AsinhNorm, Colormap, ListedColormap
from matplotlib.text import Text

from figures.tables import StudyTables, unjudged
from probe.tables.table_file import records, where

LINEAR = 2.0
"""Points up to which scales are about linear; beyond, each factor takes the same room."""

READOUTS = ("retrain", "linear", "linear-task")
"""Readouts that have panels, in this order; the later ones only where they fit on the page."""

GAP = 0.3
"""Gap between the row of the last task and that of all tasks, in rows."""

WEAK = "0.45"
"""Color of a number whose interval holds 0."""

_SCALE = AsinhNorm(linear_width=LINEAR, vmin=-100, vmax=100)
_HALVES = ("never_learned", "forgotten")
_MARGIN = 0.03  # of a cell, white around each with a number
_ROWS = 13  # more are so thin that the one of all tasks is made higher


class LayerCell(NamedTuple):
    """A cell of the map of a layer's missing accuracy, in points.

    `x` and `y` are its left and upper edges; it is 1 wide and `high` high. `total` is the number in
    the middle; `values` are the one or two numbers, side by side, that add up to it. The number is
    `weak` if its interval includes 0; `below` means that the layer is surely less accurate than an
    untrained one.
    """

    x: float
    y: float
    total: float
    values: Sequence[float]
    weak: bool
    below: bool
    high: float = 1


@cache  # matplotlib computes a colormap anew for each
def shades(*, below: bool) -> Colormap:
    """Return the color map from -100 to 100 points, with white at 0.

    Purple is negative and orange positive; in cells below untrained, positive is teal. Color-blind
    readers can tell these three apart, purple and teal the least, and no cell below untrained is
    above the ceiling.
    """
    upper = matplotlib.colormaps["BrBG" if below else "PuOr_r"]
    ends = np.linspace(0, 1, 256)
    lower = matplotlib.colormaps["PuOr_r"](ends[:128])
    return ListedColormap(np.concatenate([lower, upper(ends[128:])]))


def draw_cells(axes: Axes, cells: Sequence[LayerCell], *, texts: bool) -> PolyCollection:
    """Draw cells in colors, on a scale that is the same in all figures; return the mesh.

    Args:
        axes: The axes to draw on.
        cells: The cells.
        texts: Whether each cell shows its total, as a whole number.
    """
    for below in (True, False):
        drawn = [cell for cell in cells if cell.below == below]
        boxes = [box for cell in drawn for box in _boxes(cell, _MARGIN * texts)]
        edge = {"edgecolor": "white", "linewidth": 0.3} if texts else {"linewidth": 0}
        mesh = PolyCollection(boxes, cmap=shades(below=below), norm=_SCALE, **edge)
        mesh.set_array(np.array([value for cell in drawn for value in cell.values]))
        axes.add_collection(mesh)
    for cell in cells if texts else ():
        colors = [shades(below=cell.below)(float(_SCALE(value))) for value in cell.values]
        # Rounded to a whole number: of a float, -0.2 would be -0.
        number = write(axes, cell.x + 0.5, cell.y + 0.5, str(round(cell.total)), colors[0])
        number.set_verticalalignment("center_baseline")
        if cell.weak or len({ink(color) for color in colors}) > 1:
            number.set_color(WEAK if cell.weak else "black")
            # No outline: it would turn the text of an SVG into paths.
            number.set_bbox({"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.4})
    return mesh


def _boxes(cell: LayerCell, margin: float) -> list[list[tuple[float, float]]]:
    """Return the corners of the parts of a cell, with a margin above and below."""
    edges = np.linspace(cell.x + _MARGIN, cell.x + 1 - _MARGIN, len(cell.values) + 1).tolist()
    low, high = cell.y + margin, cell.y + cell.high - margin
    return [[(x0, low), (x1, low), (x1, high), (x0, high)] for x0, x1 in pairwise(edges)]


def write(axes: Axes, x: float, y: float, number: str, color: Sequence[float]) -> Text:
    """Write a number into the middle of a cell, in black or white.

    Args:
        axes: The axes of the heat map.
        x: The cell's position along x.
        y: The cell's position along y.
        number: The number.
        color: The color of the cell.

    Returns:
        The text.
    """
    text = axes.text(x, y, number, color=ink(color), size=digits_size(), ha="center", va="center")
    text.set_in_layout(False)  # it lies within the panel, which is much to find out
    return text


def strip(axes: Axes, ticks: float = 0) -> None:
    """Remove grid and frame from a heat map; `ticks` is the length of its ticks, in points."""
    axes.tick_params(length=ticks)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def digits_size() -> float:
    """Return the font size of the numbers in cells, in points: slightly smaller than other text."""
    return float(matplotlib.rcParams["font.size"]) * 7 / 7.5


def ink(background: Sequence[float]) -> str:
    """Return black or white, whichever has the higher contrast (WCAG 2.1) on a color in sRGB.

    >>> ink((1.0, 1.0, 0.0)), ink((0.0, 0.0, 0.5))
    ('black', 'white')
    """
    # sRGB is not linear in light, of which contrast is a ratio.
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in background[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # Contrast is (lighter + 0.05) / (darker + 0.05): black's and white's are equal here.
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"


class LayerPanel(NamedTuple):
    """The map of a learner and readout; its rows are task positions, None for all tasks.

    `forgets` is the first feature shown to forget, "" = none; nothing is stated on the features in
    `unjudged`.
    """

    learner: str
    readout: str
    features: list[str]
    task_positions: list[int | None]
    cells: list[LayerCell]
    forgets: str
    unjudged: Sequence[str]


def layer_panels(tables: StudyTables) -> list[LayerPanel]:
    """Return the panels to draw, in the order of the table."""
    groups = where(tables.layers, readout=READOUTS).groupby(["learner", "readout"], sort=False)
    panels = [_panel(tables, learner, readout, rows) for (learner, readout), rows in groups]
    return [panel for panel in panels if panel.cells]


def _panel(tables: StudyTables, learner: str, readout: str, rows: pd.DataFrame) -> LayerPanel:
    """Return the panel of the rows of a learner and readout."""
    depths = sorted(set(zip(rows["depth"], rows["feature"], strict=True)))
    features = list(dict(depths).values())
    measured = records(rows.dropna(subset="value"))
    row_of = {(r.feature, r.task_position, r.quantity): r for r in measured}
    missing = {position for _, position, name in row_of if name == "missing"}
    positions = sorted(missing, key=lambda position: position or math.inf)
    high, cells = max(1.0, len(positions) / _ROWS), []
    for x, feature in enumerate(features):
        for y, position in enumerate(positions):
            if row := row_of.get((feature, position, "missing")):
                halves = [row_of.get((feature, position, name)) for name in _HALVES]
                # Over all tasks the halves are means over different positions.
                divided = position is not None and None not in halves
                above = row_of.get((feature, position, "above_floor"))
                cell = LayerCell(
                    x=x,
                    y=y + GAP * high * (position is None),
                    high=1 if position else high,
                    total=100 * row.value,
                    values=[100 * part.value for part in (halves if divided else [row]) if part],
                    # NaN, as of one seed, holds nothing.
                    weak=row.low <= 0 <= row.high,
                    below=above is not None and above.high < 0,
                )
                cells.append(cell)
    forgets = where(tables.first_layer, statement="forgets", learner=learner, readout=readout)
    first = next(iter(forgets["first_confirmed"]), "")
    doubted = unjudged(tables.statements)
    in_doubt = [name for name in features if (learner, readout, name) in doubted]
    return LayerPanel(learner, readout, features, positions, cells, first, in_doubt)
