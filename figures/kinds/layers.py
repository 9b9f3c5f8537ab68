"""Accuracy missing in each layer on each task, against the ceiling.

x: the layer, by depth; y: the task position in the executed order, the first learned on top, and
all tasks below; color and number: ceiling minus accuracy, in points (of 100), from layers.csv; a
panel for each learner and readout.

Read along a row to see in which layers a task is lost, down a column to see the tasks that a layer
has lost: if it forgets, the first ones. If all steps were measured, a cell has two halves:
forgotten since, and never learned.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from figures import labels, layout, style
from figures.cells import GAP, READOUTS, Panel, draw_cells, missing_panels
from figures.pages.page import Page
from figures.tables import Tables
from probe.tables.rows import LayerRow

MOST_ANNOTATED = 12
"""Most tasks for which cells show their values; in smaller cells no number could be read."""

_PAGE, _BESIDE, _AROUND = 8.8, 0.6, 0.5  # inches: height of a page, room at a panel's left, above

NEEDS = "a learner and the accuracy missing in its layers"
TABLES = ("layers", "starts")


def names(tables: Tables) -> list[str]:
    """Return the learners that are drawn."""
    return list(dict.fromkeys(panel.learner for panel in missing_panels(tables)))


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one heat map per continual learner and readout: T positions (and all) by L layers.

    Hatched cells: floor and ceiling are not apart, so that the share retained is unknown. A frame
    is where forgetting starts. All panels share the colors; below 0, better than the ceiling, they
    have the color of 0. Returns None where nothing missing was measured.
    """
    panels = missing_panels(tables)
    if not panels:
        return None
    blocks = [own for name in READOUTS if (own := [p for p in panels if p.readout == name])]
    while not (size := _Size.of(page, blocks)).fits and len(blocks) > 1:
        blocks = blocks[:-1]
    grid = _grid(page, blocks, size)
    shown = [panel for block in blocks for panel in block]
    highest = max(value for panel in shown for cell in panel.cells for value in cell.values)
    top = max(10, 10 * math.ceil(highest / 10))
    for axes, panel in zip(grid, shown, strict=True):
        mesh = draw_cells(axes, panel.cells, top=top, texts=size.legible)
        _finish(axes, panel)
    # In a user's axes there is one of them.
    seen = [panel for axes, panel in zip(grid, shown, strict=True) if page.axes in (None, axes)]
    _explain(page, tables, seen)
    _name_features(page, grid, shown)
    whole = (size.columns * size.wide, len(grid) / size.columns * size.high)
    label = "Missing: ceiling minus accuracy (points)"
    page.color_bar(grid, mesh, label, (0, top / 2, top), whole)
    sides = ("Layer, by depth", "Task position")
    readouts, rows = _measured(tables, panels)
    several = "s" * (len(readouts) > 1)
    page.describe(
        tables,
        dict.fromkeys(panel.learner for panel in panels),
        "Accuracy missing in each layer on each task: accuracy downstream of the same layer of a "
        "network trained on all tasks at once (the ceiling) minus accuracy downstream of the layer "
        "of the network that has learned them one after another, in percentage points",
        "Columns: layers by depth; rows: tasks by position in the executed order, and all tasks",
        *(said for _, said in _marks(panels)),
        f"Trained downstream of the layer, on all tasks at once: the readout{several} "
        f"{labels.together(readouts)}",
        labels.means_are(rows, "Numbers"),
    )
    return page.fit(grid, sides, height=size.high, width=size.wide)


def _measured(tables: Tables, panels: Sequence[Panel]) -> tuple[list[str], list[LayerRow]]:
    """Return the readouts of panels, and all rows of their learners and readouts."""
    own = dict.fromkeys((panel.learner, panel.readout) for panel in panels)
    rows = [row for row in tables.layers if (row.learner, row.readout) in own]
    return list(dict.fromkeys(readout for _, readout in own)), rows


def _marks(panels: Sequence[Panel]) -> Iterator[tuple[Patch, str]]:
    """Yield the legend's entry and the caption's sentence for each kind of mark that is there."""
    if any(panel.split for panel in panels):
        halves = Patch(facecolor="0.85", edgecolor="0.5", label="Halves: forgotten | never learned")
        yield halves, "Halves of a cell: forgotten since it was best (left), never learned (right)"
    if any(cell.hatched for panel in panels for cell in panel.cells):
        label = "Floor meets ceiling: retained is unknown"
        hatched = Patch(facecolor="white", edgecolor="0.3", hatch="/////", lw=0, label=label)
        yield (
            hatched,
            "Hatched: an untrained layer does as well, so forgetting cannot be identified",
        )
    if any(panel.start for panel in panels):
        frame = Patch(**_FRAME, label="Forgetting starts (95 %)")
        yield frame, "A frame: the layer at which forgetting starts, with 95 % confidence"


@dataclass(frozen=True, kw_only=True)
class _Size:
    """Size of panels on a page: columns of the grid, inches of a panel, whether all of it fits."""

    columns: int
    wide: float
    high: float
    fits: bool
    legible: bool

    @classmethod
    def of(cls, page: Page, blocks: Sequence[Sequence[Panel]]) -> Self:
        """Return the size for the panels of each readout."""
        panels = [panel for block in blocks for panel in block]
        learners = max(map(len, blocks))
        tasks = max(len(panel.places) for panel in panels)
        layers = max(len(panel.features) for panel in panels)
        split = any(panel.split for panel in panels)
        legible, scale = tasks <= MOST_ANNOTATED + 1, page.scale
        high = max(1.0, 0.19 * scale * (tasks + GAP)) if legible else 2.4
        room = page.wide - _BESIDE
        # Cells as wide as is easily read or, if the page is then too short, as is just legible.
        for least in (0.5, 0.4, 0.33) if split else (0.32, 0.25):
            cell = least * scale
            columns = layout.balanced(learners, max(1, int(room / (layers * cell + 0.1))))
            rows = len(blocks) * math.ceil(learners / columns)
            if fits := rows * (high + _AROUND) < _PAGE:
                break
        return cls(
            columns=columns,
            wide=min(max(layers * cell, (style.SINGLE - _BESIDE) / columns), room / columns),
            high=high,
            fits=fits,
            legible=legible and layers * cell <= room and page.legible(layers * (1 + split), tasks),
        )


def _grid(page: Page, blocks: Sequence[Sequence[Panel]], size: _Size) -> list[Axes]:
    """Return the panels of a figure; each readout starts a new row."""
    named = "{0}, {1}" if len(blocks) > 1 else "{0}"
    titles = [[named.format(page.label(p.learner), p.readout) for p in own] for own in blocks]
    found = page.blocks(titles, size.columns, wide=True)
    if page.axes is None and page.options.width is None:
        # Legends are as wide as the figure will be.
        page.figure.set_figwidth(size.columns * size.wide + _BESIDE)
    return [axes for block in found for axes in block]


def _finish(axes: Axes, panel: Panel) -> None:
    """Give a panel the ticks along y, and a frame where forgetting starts; task 1 is on top."""
    count = len(panel.places)
    tasks = [place for place in panel.places if place]
    ticks = {panel.places.index(k) + 0.5: str(k) for k in layout.ticks(1, len(tasks)) if k in tasks}
    bottom = count + GAP * (count > len(tasks))
    if count > len(tasks):
        ticks[bottom - 0.5] = "all"
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_xlim(0, len(panel.features))
    axes.set_ylim(0, bottom)
    axes.yaxis.set_inverted(True)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    if panel.start in panel.features:
        at = (panel.features.index(panel.start), 0)
        axes.add_patch(Rectangle(at, 1, bottom, **_FRAME, clip_on=False, zorder=5))


_FRAME: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.6}


def _name_features(page: Page, grid: Sequence[Axes], shown: Sequence[Panel]) -> None:
    """Name the features below each panel, unless the same stand below the panel under it."""
    places = [axes.get_subplotspec() for axes in grid]
    at = {
        (p.rowspan.start, p.colspan.start): own for p, own in zip(places, shown, strict=True) if p
    }
    for place, axes, panel in zip(places, grid, shown, strict=True):
        # In a user's axes nothing of ours stands below.
        below = at.get((place.rowspan.start + 1, place.colspan.start)) if place else None
        same = below is not None and below.features == panel.features
        x = [k + 0.5 for k in range(len(panel.features))]
        names = [""] * len(x) if same else labels.shortened(panel.features)
        # Slanted, long names would push the panels apart.
        page.name_ticks(axes, x, names, upright=max(map(len, names)) > 10)


def _explain(page: Page, tables: Tables, shown: Sequence[Panel]) -> None:
    """Put a legend above the panels that explains halves, hatches and frames."""
    names, rows = _measured(tables, shown)
    readouts = f"readout{'s' * (len(names) > 1)} {' and '.join(names)}"
    page.legend([mark for mark, _ in _marks(shown)], f"{labels.mean_over(rows)}, {readouts}")
