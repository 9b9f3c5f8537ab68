"""Accuracy matrix R of each learner as a heat map.

x: the evaluated task; y: the number of tasks learned, from none in the top row; color: accuracy in
%, from measurements.csv, dark for 0 and light for 100, gray where it is 0 by construction: a single
head never predicts a class of a task to come.

Read down a column to follow a task: before it is learned, learned at the white steps, and forgotten
below them; read along a row to see all tasks at one time.
"""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from numpy.typing import NDArray

from figures import labels, layout
from figures.cells import strip, write
from figures.pages.page import Page
from figures.tables import Tables
from probe.metrics.matrix import AccuracyMatrix

MOST_ANNOTATED = 10
"""Most tasks for which cells show their values; in smaller cells no number could be read."""

QUESTION = "What does the network still know after each task?"
NEEDS = "a learner and its accuracies after each task"
TABLES = ("measurements",)


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw each continual learner's R, averaged over orders and seeds, with one color bar.

    Row = tasks learned so far, from none ("before") to T; column = position of the evaluated task
    in the executed order. The steps separate the tasks learned so far, below, from those to come.
    Cells that were not measured are hatched. Returns None without a continual learner.
    """
    matrices = tables.matrices
    if not matrices:
        return None
    columns, wide, high = _sizes(page, len(matrices), max(R.tasks for R in matrices.values()))
    grid = page.panels([page.label(name) for name in matrices], columns, wide=True)
    void = {name: tables.impossible(R) for name, R in matrices.items()}
    for axes, (name, R) in zip(grid, matrices.items(), strict=True):
        legible = R.tasks <= MOST_ANNOTATED and page.legible(R.tasks, R.tasks + 1)
        mesh = _heat_map(axes, R, void[name], legible=legible)
        # As in a matrix, row 0 is on top.
        axes.yaxis.set_inverted(True)
    size = (columns * wide, len(grid) / columns * high)
    grey = any(each.any() for each in void.values())
    label = labels.with_head("Accuracy (%)", tables.measurements)
    label += "\nGray: 0 by construction" * grey
    page.color_bar(grid, mesh, label, range(0, 101, 25), size)
    sides = (tables.positions, "Tasks learned so far")
    page.describe(
        matrices,
        "Accuracy on each task (columns, by position in the executed order) before training and "
        "after each task (rows), in percent",
        "The white steps separate the tasks learned so far, below, from those to come",
        "Gray: 0 by construction, as a single head never predicts a class of a task to come" * grey,
        *labels.of_accuracies(tables, "Numbers"),
    )
    return page.fit(grid, sides, height=high, width=wide)


def _sizes(page: Page, count: int, tasks: int) -> tuple[int, float, float]:
    """Return the columns of the grid, and a panel's width and height in inches, to fit on a page.

    count: of learners; a page is 8.8 inches high.
    """
    across, scale = min(tasks, MOST_ANNOTATED), page.scale
    high, beside, gap, most_high = max(1.2, 0.2 * scale * (across + 1)), 0.65, 0.06, 8.8
    # Cells as wide as is easily read or, if the page is then too short, as is just legible.
    for cell in (0.255, 0.2):
        most = max(1, int((page.wide - beside) / (across * scale * cell + gap)))
        columns = layout.balanced(count, most)
        if -(-count // columns) * (high + 0.4) < most_high:
            break
    return columns, max(across * scale * cell, 1.8 / columns), high


def _heat_map(axes: Axes, R: AccuracyMatrix, void: NDArray[np.bool_], *, legible: bool) -> QuadMesh:
    """Draw R, (T+1, T), in percent, a cell for each element; return the colored mesh.

    void: the cells that are grey; legible: whether the others show their numbers.
    """
    T, shade = R.tasks, matplotlib.colormaps["viridis"].with_extremes(under="0.82")
    # The hatched ground shows through cells that the mesh leaves out.
    axes.patch.set(facecolor="0.92", hatch="//////", edgecolor="0.7")
    mesh = axes.pcolormesh(
        np.arange(T + 1) + 0.5,
        np.arange(T + 2) - 0.5,
        100 * np.ma.masked_invalid(np.where(void, -1, R.values)),
        cmap=shade,
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
    strip(axes)
    for (row, column), value in np.ndenumerate(R.values) if legible else ():
        if not np.isnan(value) and not void[row, column]:
            write(axes, column + 1, row, f"{100 * value:.0f}", shade(float(value)))
    return mesh
