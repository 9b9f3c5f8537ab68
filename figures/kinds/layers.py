"""Accuracy missing in each layer on each task, against the ceiling.

x: the layer, by depth; y: the task position in the executed order, the first learned on top, and
all tasks below; number: ceiling minus accuracy, in points (of 100), from layers.csv; a panel for
each learner and readout.

Where each task was measured when it was learned, the left half of a cell has the color of what was
never learned, the right half of what was forgotten since, and both add up to the number. Read along
a row to see in which layers a task is lost, down a column to see the tasks that a layer has lost:
if it forgets, the first ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from figures import cells, labels, layout, lines, style
from figures.cells import Panel
from figures.pages.page import Page
from figures.tables import Tables
from probe.tables.rows import LayerRow

MOST_ANNOTATED = 12
"""Most tasks for which cells show their values; in smaller cells no number could be read."""

_PAGE, _BESIDE, _AROUND = 8.8, 1.2, 0.5  # inches: height of a page, room beside panels, above

QUESTION = "What is missing in each layer?"
NEEDS = "a learner and the accuracy missing in its layers"
TABLES = ("layers", "statements", "first_layer")


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one heat map per continual learner and readout: T positions (and all) by L layers.

    The colors have 0 in the middle and are the same in all figures; cells below untrained are of
    another hue. A number is gray where its interval includes 0. A frame is the first layer shown to
    forget. Returns None where nothing missing was measured.
    """
    panels = cells.missing_panels(tables)
    if not panels:
        return None
    blocks = [own for name in cells.READOUTS if (own := [p for p in panels if p.readout == name])]
    while not (size := _Size.of(page, blocks)).fits and len(blocks) > 1:
        blocks = blocks[:-1]
    grid = _grid(page, blocks, size)
    shown = [panel for block in blocks for panel in block]
    for axes, panel in zip(grid, shown, strict=True):
        mesh = cells.draw_cells(axes, panel.cells, texts=size.legible)
        _finish(axes, panel)
    # In a user's axes there is one of them.
    seen = [panel for axes, panel in zip(grid, shown, strict=True) if page.axes in (None, axes)]
    _explain(page, tables, seen, numbers=size.legible)
    _name_features(page, grid, shown)
    whole = (size.columns * size.wide, len(grid) / size.columns * size.high)
    label = "Missing: ceiling minus accuracy (points)"
    page.color_bar(grid, mesh, label, (-100, -10, -3, 0, 3, 10, 100), whole, beside=True)
    sides = ("Layer, by depth", tables.positions)
    readouts, rows = _measured(tables, seen)
    several = "s" * (len(readouts) > 1)
    page.describe(
        dict.fromkeys(panel.learner for panel in seen),
        "Points of accuracy missing in each layer on each task: accuracy downstream of the same "
        "layer of a network trained on all tasks at once (the ceiling) minus accuracy downstream "
        "of the layer of the network that learned them one after another",
        "Columns: layers by depth; rows: tasks by position in the executed order, and all tasks",
        "Colors: white at 0, orange for accuracy missing, never learned or forgotten, purple for "
        "above the ceiling or gained since the task was learned; the scale is linear up to about "
        f"{cells.LINEAR:g} points, then logarithmic",
        *(said for _, said in _marks(seen, numbers=size.legible)),
        f"Trained downstream of the layer, on all tasks at once: the readout{several} "
        f"{labels.together(readouts)}",
        labels.means_are(rows, "Numbers"),
        readouts=readouts,
    )
    return page.fit(grid, sides, height=size.high, width=size.wide)


def _measured(tables: Tables, panels: Sequence[Panel]) -> tuple[list[str], list[LayerRow]]:
    """Return the readouts of panels, and all rows of their learners and readouts."""
    own = dict.fromkeys((panel.learner, panel.readout) for panel in panels)
    rows = [row for row in tables.layers if (row.learner, row.readout) in own]
    return list(dict.fromkeys(readout for _, readout in own)), rows


def _marks(panels: Sequence[Panel], *, numbers: bool) -> Iterator[tuple[lines.Key, str]]:
    """Yield the legend's entry and the caption's sentence for each kind of mark that is there.

    numbers: whether cells show theirs.
    """
    drawn = [cell for panel in panels for cell in panel.cells]
    if any(len(cell.values) > 1 for cell in drawn):
        halves = {"color": "0.6", "markerfacecoloralt": "0.9", "fillstyle": "left"}
        yield (
            _key("Never learned | forgotten", **halves),
            "Halves of a cell, which add up to the number: left, never learned (ceiling minus the "
            "accuracy once it was learned); right, forgotten since; undivided: not told apart",
        )
    if any(cell.below for cell in drawn):
        yield (
            _key("Below untrained", color=cells.shades(below=True)(0.8)),
            "Teal in place of orange: less accurate than downstream of an untrained layer, by the "
            "95 % interval of the difference",
        )
    if numbers and any(cell.weak for cell in drawn):
        weak = _key("95 % CI includes 0", marker="$0$", color=cells.WEAK, markeredgewidth=0.2)
        yield weak, "Gray number: its 95 % interval includes 0"
    if any(panel.forgets for panel in panels):
        frame = _key(
            "Shown to forget from here", color="black", markerfacecolor="none", markeredgewidth=1.6
        )
        yield (
            frame,
            "A frame: from this layer to the output every layer is shown to forget, "
            f"{labels.MARGIN}",
        )
    if any(panel.unsure for panel in panels):
        unsure = _key("Not judged", marker="$*$", color="black", markeredgewidth=0.2)
        yield unsure, f"{labels.NOT_JUDGED}; forgetting needs no ceiling"


def _key(label: str, *, marker: str = "s", **look: Any) -> Line2D:
    """Return a legend's entry."""
    return Line2D([], [], ls="", marker=marker, ms=6.5, label=label, **look)


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
        legible, scale = tasks <= MOST_ANNOTATED + 1, page.scale
        high = max(scale, 0.19 * scale * (tasks + cells.GAP)) if legible else 2.4
        room = page.wide - _BESIDE
        # Cells as wide as is easily read or, if the page is then too short, as is just legible.
        for least in (0.5, 0.4, 0.32, 0.25):
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
            legible=legible and layers * cell <= room and page.legible(layers, tasks),
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
    """Give a panel the ticks along y and its frame; task 1 is on top."""
    count = len(panel.places)
    tasks = [task_position for task_position in panel.places if task_position]
    ticks = {panel.places.index(k) + 0.5: str(k) for k in layout.ticks(1, len(tasks)) if k in tasks}
    bottom = max(cell.y + cell.high for cell in panel.cells)
    if count > len(tasks):
        ticks[(bottom + max(cell.y for cell in panel.cells)) / 2] = "all"
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_xlim(0, len(panel.features))
    axes.set_ylim(0, bottom)
    axes.yaxis.set_inverted(True)
    cells.strip(axes)
    if panel.forgets in panel.features:
        at = (panel.features.index(panel.forgets), 0)
        axes.add_patch(Rectangle(at, 1, bottom, **_FRAME, clip_on=False, zorder=5))


_FRAME: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.6}


def _name_features(page: Page, grid: Sequence[Axes], shown: Sequence[Panel]) -> None:
    """Name the features below each panel, unless the same stand below the panel under it."""
    places = [axes.get_subplotspec() for axes in grid]
    at = {
        (p.rowspan.start, p.colspan.start): own for p, own in zip(places, shown, strict=True) if p
    }
    x, names = [], []
    for task_position, panel in zip(places, shown, strict=True):
        # In a user's axes nothing of ours stands below.
        below = (
            at.get((task_position.rowspan.start + 1, task_position.colspan.start))
            if task_position
            else None
        )
        same = below and (below.features, below.unsure) == (panel.features, panel.unsure)
        x.append([k + 0.5 for k in range(len(panel.features))])
        each = zip(labels.shortened(panel.features), panel.features, strict=True)
        names.append(["" if same else name + "*" * (own in panel.unsure) for name, own in each])
    # Slanted, long names would push the panels apart.
    page.name_ticks(grid, x, names, upright=max(len(name) for own in names for name in own) > 10)


def _explain(page: Page, tables: Tables, shown: Sequence[Panel], *, numbers: bool) -> None:
    """Put a legend above the panels that explains the readouts and the marks."""
    names, _ = _measured(tables, shown)
    readouts = f"readout{'s' * (len(names) > 1)} {' and '.join(names)}"
    marks = [mark for mark, _ in _marks(shown, numbers=numbers)]
    page.legend(marks, f"Trained downstream: {readouts}")
