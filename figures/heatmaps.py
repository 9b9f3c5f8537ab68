"""Heat maps of layers by tasks, with numbers in their cells, in the colors of the HTML page."""

import math
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import BoundaryNorm, ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.typing import ColorType

from figures import captions, layout, style
from figures.maps import BORDERS, Cell, HeatMap
from figures.page import Page

MOST_ANNOTATED = 12
"""Most tasks for which cells show their values; in smaller cells no number could be read."""

SHADES = ListedColormap(
    (
        "#ffffff",
        "#fdf0e0",
        "#fde3c4",
        "#fbd09c",
        "#f6b56a",
        "#e8933a",
        "#b05d0c",
        "#854302",
    )
)
"""Colors of the tones of a loss, white first, the same as on the page."""

_DARK = 0.179  # luminance below which white has the higher contrast (WCAG 2.1)

WEAK = "0.45"
"""Color of a number whose interval includes 0, on a light cell."""

MARKS = (
    "Up to 0.5 points all cells have the first color; a number below 0 is a gain",
    "Italic: its 95 % interval includes 0",
    "Striped: in doubt, no statement rests on it",
)
"""The sentences of captions on the marks of maps."""

_PAGE = 8.8  # inches: height of a page
_BESIDE = 1.9  # inches: room beside panels
_AROUND = 0.5  # inches: room above each panel

NORM = BoundaryNorm([0, *BORDERS, 100], SHADES.N)
"""The tones of points lost."""


Block = Sequence[tuple[str, HeatMap]]
"""Maps with their titles, which start a new row."""


class _Size(NamedTuple):
    """The size of a grid of maps.

    Attributes:
        columns: The number of columns.
        width: The width of a panel in inches.
        height: The height of a panel in inches.
        fits: Whether the grid fits on a page.
        legible: Whether numbers in cells are legible.
    """

    columns: int
    width: float
    height: float
    fits: bool
    legible: bool


def shades(cmap: str) -> ListedColormap:
    """Return the colors of the tones: of a colormap of matplotlib, or `SHADES` for ""."""
    if not cmap:
        return SHADES
    return ListedColormap(colormaps[cmap](np.linspace(0, 1, SHADES.N)))


def fitting_blocks(page: Page, blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the first blocks of maps, at least one, that fit on a page together.

    Args:
        page: The page to draw on.
        blocks: The maps of each block.
    """
    while len(blocks) > 1 and not _size(page, blocks).fits:
        blocks = blocks[:-1]
    return blocks


def draw_maps(page: Page, blocks: Sequence[Block], label: str) -> list[Axes]:
    """Draw maps with one color bar.

    Args:
        page: The page to draw on.
        blocks: The maps of each block.
        label: The label of the color bar.

    Returns:
        The panels, to pass to `fit_maps`.
    """
    size = _size(page, blocks)
    maps = _views(blocks)
    # The rows of the tallest map. If all maps begin with the same rows, only the panels
    # at the left name them.
    rows = max((list(view.rows) for view in maps), key=len)
    alike = all(list(view.rows) == rows[: len(view.rows)] for view in maps)
    titles = [list(map(itemgetter(0), block)) for block in blocks]
    panels = page.blocks(titles, size.columns, wide=True, share_y=False)
    if page.axes is None and page.options.width is None:
        # Before legends are drawn, which are as wide as the figure.
        page.figure.set_figwidth(size.columns * size.width + _beside(page, maps))
    grid = list(chain.from_iterable(panels))
    cell_width = size.width / max(len(view.columns) for view in maps)
    decimals = page.axes is None and cell_width >= 0.32 * page.scale
    colors = shades(page.options.cmap)
    for axes, view in zip(grid, maps, strict=True):
        mesh = _draw_map(axes, view, colors, numbers=size.legible, decimals=decimals)
        axes.set_ylim(len(rows), 0)
        _name_layers(axes, view, rows if alike else None)
    inches = (size.columns * size.width, len(grid) / size.columns * size.height)
    page.color_bar(
        mesh,
        label,
        (*BORDERS, 100),
        grid,
        inches,
        beside=True,
    )
    return grid


def fit_maps(page: Page, grid: Sequence[Axes], blocks: Sequence[Block]) -> Figure:
    """Label the axes of maps, give each cell of a figure the same size, and return the figure.

    Args:
        page: The page.
        grid: The panels that `draw_maps` returned.
        blocks: The maps of each block, as they were passed to it.
    """
    size = _size(page, blocks)
    maps = _views(blocks)
    labels = (page.tables.position_label, "Layer")
    figure = page.fit(grid, labels, height=size.height, width=size.width)
    most = max(len(view.rows) for view in maps)
    for axes, view in zip(grid, maps, strict=True):
        if page.axes is None:
            x, y, width, height = axes.get_position(original=True).bounds
            # A map of fewer rows ends higher, so that cells have the same height.
            share = len(view.rows) / most
            axes.set_position((x, y + height * (1 - share), width, height * share))
        axes.set_ylim(len(view.rows), 0)
    return figure


def _size(page: Page, blocks: Sequence[Block]) -> _Size:
    """Return the size for the maps of each block."""
    maps = _views(blocks)
    most_panels = max(map(len, blocks))
    n_tasks = max(len(view.columns) for view in maps)
    n_layers = max(len(view.rows) for view in maps)
    is_annotated = n_tasks <= MOST_ANNOTATED + 1
    scale = page.scale
    room = page.max_width - _beside(page, maps)
    # Cells as large as is easily read or, if the page is then too short, as is just
    # legible.
    for cell_width, cell_height in (
        (0.4, 0.2),
        (0.32, 0.18),
        (0.25, 0.15),
        (0.25, 0.12),
    ):
        height = max(0.6, cell_height * scale * n_layers)
        width = (
            max(1.6 * scale, cell_width * scale * n_tasks)
            if is_annotated
            else min(room, 2.4)
        )
        columns = layout.balanced(most_panels, max(1, int(room / (width + 0.1))))
        rows = sum(math.ceil(len(block) / columns) for block in blocks)
        if fits := rows * (height + _AROUND) < _PAGE:
            break
    width = min(width, room / columns)
    legible = is_annotated and cell_height >= 0.15 and page.legible(n_tasks, n_layers)
    return _Size(columns, width, height, fits, legible)


def _views(blocks: Sequence[Block]) -> list[HeatMap]:
    """Return the maps of all blocks, in order, without their titles."""
    return [view for _, view in chain.from_iterable(blocks)]


def _beside(page: Page, maps: Sequence[HeatMap]) -> float:
    """Return the room beside panels: a color bar, and names of layers, of 14 letters or more."""
    names = chain(*(captions.shortened(view.rows) for view in maps))
    longest = max(map(len, names))
    return _BESIDE + 0.06 * page.scale * max(0, longest - 14)


def _draw_map(
    axes: Axes,
    view: HeatMap,
    colors: ListedColormap,
    *,
    numbers: bool,
    decimals: bool,
) -> QuadMesh:
    """Draw a map, input at the top, and return its colored mesh.

    Args:
        axes: The axes.
        view: The map, of L layers by T task positions and all tasks.
        colors: The colors of the tones.
        numbers: Whether cells show their numbers.
        decimals: Whether these have a decimal, where they are below 10 points.
    """
    shape = len(view.rows), len(view.columns)
    points = [100 * cell.value for cell in view.all_cells]
    mesh = axes.pcolormesh(
        np.arange(shape[1] + 1),
        np.arange(shape[0] + 1),
        np.ma.masked_invalid(points).reshape(shape).clip(0),
        cmap=colors,
        norm=NORM,
        edgecolor="0.8" if numbers else "none",
        linewidth=0.4,
    )
    for (y, x), cell in zip(np.ndindex(shape), view.all_cells, strict=True):
        if cell.withheld:
            stripes = Rectangle(
                (x, y),
                1,
                1,
                fill=False,
                hatch="////",
                ec="0.5",
                lw=0,
            )
            axes.add_patch(stripes)
        if numbers:
            _write_loss(axes, x + 0.5, y + 0.5, cell, colors, decimals=decimals)
    _name_tasks(axes, view)
    strip(axes)
    return mesh


def _write_loss(
    axes: Axes,
    x: float,
    y: float,
    cell: Cell,
    colors: ListedColormap,
    *,
    decimals: bool,
) -> None:
    """Write the points lost into a cell, in italics if the interval includes 0."""
    if cell.tone is None:
        return
    lost = 100 * cell.value
    short = abs(lost) >= 9.95 or not decimals
    text = str(round(lost)) if short else cell.text
    number = write(axes, x, y, text, colors(cell.tone))
    if cell.weak:
        number.set_fontstyle("italic")
        if cell.tone < 3 and colors is SHADES:
            number.set_color(WEAK)


def _name_layers(axes: Axes, view: HeatMap, shared: Sequence[str] | None) -> None:
    """Name the layers of a map; maps with `shared` names have them at the left only."""
    names = captions.shortened(shared or view.rows)[: len(view.rows)]
    spec = axes.get_subplotspec()
    if shared and spec and not spec.is_first_col():
        names = [""] * len(names)
    axes.set_yticks(np.arange(len(names)) + 0.5, names)


def _name_tasks(axes: Axes, view: HeatMap) -> None:
    """Mark some task positions along x, and always the last column, all tasks."""
    last = len(view.columns) - 1
    ticks = [k - 1 for k in layout.ticks(1, last)]
    if last > MOST_ANNOTATED and ticks[-1] == last - 1:
        ticks.pop()  # the number of the last task would touch "all"
    ticks.append(last)
    axes.set_xticks([k + 0.5 for k in ticks], [view.columns[k] for k in ticks])


def write(axes: Axes, x: float, y: float, number: str, color: ColorType) -> Text:
    """Write a number into the middle of a cell, in black, or in white on a dark one.

    Args:
        axes: The axes of the heat map.
        x: The cell's position along x.
        y: The cell's position along y.
        number: The number.
        color: The cell's color.

    Returns:
        The text.
    """
    # WCAG 2.1's relative luminance.
    linear = ((np.array(to_rgb(color)) + 0.055) / 1.055) ** 2.4
    luminance = linear @ (0.2126, 0.7152, 0.0722)
    text = axes.text(
        x,
        y,
        number,
        color="white" if luminance < _DARK else "black",
        size=style.digits_size(),
        ha="center",
        va="center_baseline",
    )
    # It lies within the panel: a layout need not measure it, which takes long.
    text.set_in_layout(False)
    return text


def strip(axes: Axes, ticks: float = 0) -> None:
    """Remove grid and frame from a heat map; `ticks` is the length of its ticks, in points."""
    axes.tick_params(length=ticks)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
