"""Accuracy missing in each layer on each task, against the ceiling.

x: the layer, by depth; y: the task position in the executed order, the first learned on top, and
all tasks below; number: ceiling minus accuracy, in points (of 100), from layers.csv; a panel for
each learner and readout.

If each task was measured when it was learned, the color of a cell's left half shows what was never
learned, that of the right half what was forgotten since, and both add up to the number. Read along
a row to see in which layers a task is lost, and down a column to see which tasks a layer has lost:
the first ones if it forgets.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from figures import captions, heatmaps, layout, lines, style
from figures.heatmaps import LayerPanel
from figures.page import Page
from figures.tables import StudyTables

MOST_ANNOTATED = 12
"""Most tasks for which cells show their values; in smaller cells no number could be read."""

_PAGE, _BESIDE, _AROUND = 8.8, 1.2, 0.5  # inches: height of a page, room beside panels, above

QUESTION = "What is missing in each layer?"
NEEDS = "a learner and the accuracy missing in its layers"
TABLES = ("layers", "statements", "first_layer")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one heat map per continual learner and readout: T positions (and all) by L layers.

    The colors are centered at 0 and the same in all figures; cells below untrained have another
    hue. A number is gray if its interval includes 0. A frame marks the first layer shown to forget.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no missing accuracy was measured.
    """
    panels = heatmaps.layer_panels(tables)
    if not panels:
        return None
    blocks = [[p for p in panels if p.readout == readout] for readout in heatmaps.READOUTS]
    blocks = [block for block in blocks if block]
    while not (size := _size(page, blocks)).fits and len(blocks) > 1:
        blocks = blocks[:-1]
    panels = [panel for block in blocks for panel in block]
    grid = _grid(page, blocks, size)
    for axes, panel in zip(grid, panels, strict=True):
        mesh = heatmaps.draw_cells(axes, panel.cells, texts=size.legible)
        _finish(axes, panel)
    # In a user's axes there is one of them.
    visible = [p for axes, p in zip(grid, panels, strict=True) if page.axes in (None, axes)]
    readouts = list(dict.fromkeys(panel.readout for panel in visible))
    marks = dict(_marks(visible, numbers=size.legible))
    several = "s" * (len(readouts) > 1)
    page.legend(marks, f"Trained downstream: readout{several} {' and '.join(readouts)}")
    _name_features(page, grid, panels)
    inches = (size.columns * size.width, len(grid) / size.columns * size.height)
    label = "Missing: ceiling minus accuracy (points)"
    page.color_bar(mesh, label, (-100, -10, -3, 0, 3, 10, 100), grid, inches, beside=True)
    drawn = {(panel.learner, panel.readout) for panel in visible}
    keys = tables.layers.set_index(["learner", "readout"]).index
    page.describe(
        dict.fromkeys(panel.learner for panel in visible),
        "Points of accuracy missing in each layer on each task: accuracy downstream of the same "
        "layer of a network trained on all tasks at once (the ceiling) minus accuracy downstream "
        "of the layer of the network that learned them one after another",
        "Columns: layers by depth; rows: tasks by position in the executed order, and all tasks",
        "Colors: white at 0, orange for accuracy missing, never learned or forgotten, purple for "
        "above the ceiling or gained since the task was learned; the scale is linear up to about "
        f"{heatmaps.LINEAR:g} points, then logarithmic",
        *marks.values(),
        f"Trained downstream of the layer, on all tasks at once: the readout{several} "
        f"{captions.together(readouts)}",
        captions.means_are(tables.layers[keys.isin(drawn)], "Numbers"),
        readouts=readouts,
    )
    axis_labels = ("Layer, by depth", tables.position_label)
    return page.fit(grid, axis_labels, height=size.height, width=size.width)


def _marks(panels: Sequence[LayerPanel], *, numbers: bool) -> Iterator[tuple[lines.Key, str]]:
    """Yield the legend entry and the caption's sentence for each kind of mark that is there.

    numbers: whether the cells show their numbers.
    """
    cells = [cell for panel in panels for cell in panel.cells]
    if any(len(cell.values) > 1 for cell in cells):
        halves = {"color": "0.6", "markerfacecoloralt": "0.9", "fillstyle": "left"}
        yield (
            _key("Never learned | forgotten", **halves),
            "Halves of a cell, which add up to the number: left, never learned (ceiling minus the "
            "accuracy once it was learned); right, forgotten since; undivided: not told apart",
        )
    if any(cell.below for cell in cells):
        yield (
            _key("Below untrained", color=heatmaps.shades(below=True)(0.8)),
            "Teal in place of orange: less accurate than downstream of an untrained layer, by the "
            "95 % interval of the difference",
        )
    if numbers and any(cell.weak for cell in cells):
        weak = _key("95 % CI includes 0", marker="$0$", color=heatmaps.WEAK, markeredgewidth=0.2)
        yield weak, "Gray number: its 95 % interval includes 0"
    if any(panel.forgets for panel in panels):
        yield (
            _key("Shown to forget from here", color="black", mfc="none", mew=1.6),
            "A frame: from this layer to the output every layer is shown to forget, "
            f"{captions.MARGIN}",
        )
    if any(panel.unjudged for panel in panels):
        unjudged = _key("Not judged", marker="$*$", color="black", markeredgewidth=0.2)
        yield unjudged, f"{captions.NOT_JUDGED}; forgetting needs no ceiling"


def _key(label: str, *, marker: str = "s", **look: Any) -> Line2D:
    """Return a legend entry."""
    return Line2D([], [], ls="", marker=marker, ms=6.5, label=label, **look)


class _Size(NamedTuple):
    """The columns of the grid, the inches of a panel, whether all fits, and numbers are legible."""

    columns: int
    width: float
    height: float
    fits: bool
    legible: bool


def _size(page: Page, blocks: Sequence[Sequence[LayerPanel]]) -> _Size:
    """Return the size for the panels of each readout."""
    panels = [panel for block in blocks for panel in block]
    learners = max(map(len, blocks))
    tasks = max(len(panel.task_positions) for panel in panels)
    layers = max(len(panel.features) for panel in panels)
    few_tasks, scale = tasks <= MOST_ANNOTATED + 1, page.scale
    height = max(scale, 0.19 * scale * (tasks + heatmaps.GAP)) if few_tasks else 2.4
    room = page.max_width - _BESIDE
    # Cells as wide as is easily read or, if the page is then too short, as is just legible.
    for inches in (0.5, 0.4, 0.32, 0.25):
        cell = inches * scale
        columns = layout.balanced(learners, max(1, int(room / (layers * cell + 0.1))))
        rows = len(blocks) * math.ceil(learners / columns)
        if fits := rows * (height + _AROUND) < _PAGE:
            break
    width = min(max(layers * cell, (style.SINGLE - _BESIDE) / columns), room / columns)
    legible = few_tasks and layers * cell <= room and page.legible(layers, tasks)
    return _Size(columns, width, height, fits, legible)


def _grid(page: Page, blocks: Sequence[Sequence[LayerPanel]], size: _Size) -> list[Axes]:
    """Return the panels of a figure; each readout starts a new row."""
    title = "{0}, {1}" if len(blocks) > 1 else "{0}"
    titles = [
        [title.format(page.display_name(panel.learner), panel.readout) for panel in block]
        for block in blocks
    ]
    grid = page.blocks(titles, size.columns, wide=True)
    if page.axes is None and page.options.width is None:
        # Legends are as wide as the figure will be.
        page.figure.set_figwidth(size.columns * size.width + _BESIDE)
    return [axes for block in grid for axes in block]


def _finish(axes: Axes, panel: LayerPanel) -> None:
    """Give a panel the ticks along y and its frame; task 1 is at the top."""
    positions, cells = panel.task_positions, panel.cells
    tasks = [position for position in positions if position]
    ticks = {positions.index(k) + 0.5: str(k) for k in layout.ticks(1, len(tasks)) if k in tasks}
    bottom = max(cell.y + cell.high for cell in cells)
    if None in positions:
        ticks[(bottom + max(cell.y for cell in cells)) / 2] = "all"
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_xlim(0, len(panel.features))
    axes.set_ylim(0, bottom)
    axes.yaxis.set_inverted(True)
    heatmaps.strip(axes)
    if panel.forgets in panel.features:
        frame: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.6}
        corner = (panel.features.index(panel.forgets), 0)
        axes.add_patch(Rectangle(corner, 1, bottom, **frame, clip_on=False, zorder=5))


def _name_features(page: Page, grid: Sequence[Axes], panels: Sequence[LayerPanel]) -> None:
    """Name the features below each panel unless the panel under it shows the same names."""
    # In a user's axes nothing of ours stands below: it has no cell.
    specs = [axes.get_subplotspec() for axes in grid]
    cells = [(spec.rowspan.start, spec.colspan.start) if spec else None for spec in specs]
    panel_at = dict(zip(cells, panels, strict=True))
    names = []
    for cell, panel in zip(cells, panels, strict=True):
        below = panel_at.get((cell[0] + 1, cell[1])) if cell else None
        same = below and (below.features, below.unjudged) == (panel.features, panel.unjudged)
        pairs = zip(captions.shortened(panel.features), panel.features, strict=True)
        texts = [short + "*" * (feature in panel.unjudged) for short, feature in pairs]
        names.append({k + 0.5: "" if same else text for k, text in enumerate(texts)})
    # Slanted, long names would push the panels apart.
    longest = max(len(name) for name_of in names for name in name_of.values())
    page.name_ticks(grid, names, upright=longest > 10)
