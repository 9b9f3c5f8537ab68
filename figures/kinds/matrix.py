"""R as a heat map per learner: accuracy on every task before training and after each task.

x: the evaluated task; y: the number of tasks learned, from none in the top row; color: accuracy in
%, from rows.csv, dark for 0 and light for 100.

Read down a column to see a task before it is learned, when it is learned (where the white steps
are), and how it is forgotten below; read along a row to see all tasks at one time.
"""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from numpy.typing import NDArray

from figures import labels, layout, lines, style
from figures.appearance import learner_appearances
from figures.cells import ink
from figures.tables import Tables
from probe.metrics.matrix import AccuracyMatrix

MOST_ANNOTATED = 10
"""Up to this many tasks each cell shows its value; in smaller cells no number could be read."""


@style.house_style()
def draw(tables: Tables) -> Figure | None:
    """Draw each continual learner's R, averaged over orders and seeds, with one color bar.

    Row = tasks learned so far, from none ("before") to T; column = place of the evaluated task in
    the executed order. The steps separate the tasks learned so far, below, from those to come.
    Cells that were not measured are hatched. Returns None without a continual learner.
    """
    matrices = tables.matrices
    if not matrices:
        return None
    appearances = learner_appearances(matrices)
    columns, wide, high = _sizes(len(matrices), max(R.tasks for R in matrices.values()))
    figure, grid = layout.panels(len(matrices), columns, wide=True)
    for axes, (name, R) in zip(grid, matrices.items(), strict=True):
        mesh = _heat_map(axes, R)
        axes.set_title(labels.folded(appearances[name].label))
    # Of all panels, as they share it: row 0 is on top, as in a matrix.
    grid[0].invert_yaxis()
    size = (columns * wide, len(grid) / columns * high)
    label = labels.with_head("Accuracy (%)", tables.rows)
    lines.color_bar(figure, grid, mesh, label, range(0, 101, 25), size)
    sides = ("Place of the evaluated task", "Tasks learned so far")
    layout.fit(figure, grid, sides, height=high, width=wide)
    return figure


def _sizes(count: int, tasks: int) -> tuple[int, float, float]:
    """Return the columns of the grid, and a panel's width and height in inches, to fit on a page.

    count: of learners; a page is 8.8 inches high.
    """
    across = min(tasks, MOST_ANNOTATED)
    high, beside, gap, page = max(1.2, 0.2 * (across + 1)), 0.65, 0.06, 8.8
    # Cells as wide as is easily read or, if the page is then too short, as is just legible.
    for cell in (0.255, 0.2):
        most = max(1, int((style.DOUBLE - beside) / (across * cell + gap)))
        columns = layout.balanced(count, most)
        if -(-count // columns) * (high + 0.4) < page:
            break
    return columns, max(across * cell, 1.8 / columns), high


def _heat_map(axes: Axes, R: AccuracyMatrix) -> QuadMesh:
    """Draw R, (T+1, T), in percent, a cell for each element; return what has its colors."""
    T, legible = R.tasks, R.tasks <= MOST_ANNOTATED
    # The hatched ground shows through cells that the mesh leaves out.
    axes.patch.set(facecolor="0.92", hatch="//////", edgecolor="0.7")
    mesh = axes.pcolormesh(
        np.arange(T + 1) + 0.5,
        np.arange(T + 2) - 0.5,
        100 * np.ma.masked_invalid(R.values),
        cmap="viridis",
        vmin=0,
        vmax=100,
        edgecolor="white" if legible else "none",
        linewidth=0.4,
    )
    # Above every cell R[j, j]: from there down task j has been learned.
    corners = np.arange(T + 1) + 0.5
    axes.step(corners, corners, where="post", color="white", linewidth=1.8 if legible else 1)
    axes.set_xticks(layout.ticks(1, T))
    axes.set_yticks(layout.ticks(0, T), ["before", *map(str, layout.ticks(0, T)[1:])])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    if legible:
        _annotate(axes, R.values)
    return mesh


def _annotate(axes: Axes, values: NDArray[np.float64]) -> None:
    """Write each measured cell of R, (T+1, T), in whole percent, black or white."""
    shade = matplotlib.colormaps["viridis"]
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            color = ink(shade(float(value)))
            text = f"{100 * value:.0f}"
            cell = axes.text(column + 1, row, text, color=color, size=7, ha="center", va="center")
            cell.set_in_layout(False)  # it lies within the panel, which is much to find out
