"""Accuracy matrix R of each learner as a heat map.

x: the evaluated task; y: the number of tasks learned, from none in the top row; number:
accuracy in %, from measurements.csv; color: points lost since the task was learned,
white for tasks to come, gray where accuracy is 0 by construction: a single head never
predicts a class of a future task.

Read down a column to follow a task: it is learned at the steps, and forgotten below
them. Read along a row to see all tasks at one time.
"""

import math
from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from figures import captions, layout
from figures.heatmaps import NORM, shades, strip, write
from figures.maps import BORDERS
from figures.page import Page
from figures.tables import StudyTables
from probe.arrays import Bools
from probe.metrics.matrix import AccuracyMatrix

MOST_ANNOTATED = 10
"""Most tasks for which cells show their values; in smaller cells no number could be read."""

QUESTION = "What does the network still know after each task?"
NEEDS = "a method and its accuracies after each task"
TABLES = ("measurements",)


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw each continual learner's R, averaged over orders and seeds, with one color bar.

    A row is the number of tasks learned so far, from none ("before") to T; a column is
    the position of the evaluated task in the executed order. The steps separate the
    tasks learned so far, below, from future tasks. Cells that were not measured are
    hatched.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if there is no continual learner.
    """
    matrices = tables.matrices
    if not matrices:
        return None
    most = max(R.tasks for R in matrices.values())
    columns, width, height = _sizes(page, len(matrices), most)
    titles = [page.display_name(name) for name in matrices]
    grid = page.panels(titles, columns, wide=True)
    impossible = [tables.impossible(R) for R in matrices.values()]
    for axes, R, gray in zip(grid, matrices.values(), impossible, strict=True):
        legible = R.tasks <= MOST_ANNOTATED and page.legible(R.tasks, R.tasks + 1)
        colors = shades(page.options.cmap).with_extremes(under="0.82")
        mesh = _heat_map(axes, R, gray, colors, legible=legible)
        # As in a matrix, row 0 is on top.
        axes.yaxis.set_inverted(True)
    any_gray = any(gray.any() for gray in impossible)
    label = captions.with_head("Lost since learned (points)", tables.measurements)
    label += "\nGray: 0 by construction" * any_gray
    size = (columns * width, len(grid) / columns * height)
    page.color_bar(mesh, label, (*BORDERS[::2], 100), grid, size)
    page.describe(
        matrices,
        "Accuracy on each task (columns, by position in the executed order) before "
        "training and after each task (rows), in percent",
        "The steps separate the tasks learned so far, below, from those to come",
        _color_note(matrices.values()),
        (
            "Gray: 0 by construction, as a single head never predicts a class of a "
            "task to come"
        )
        * any_gray,
        *captions.of_accuracies(tables, "Numbers"),
    )
    axis_labels = (tables.position_label, "Tasks learned so far")
    return page.fit(grid, axis_labels, height=height, width=width)


def _color_note(matrices: Iterable[AccuracyMatrix]) -> str:
    """Return what the colors are, and whether some task was not tested right after it."""
    right_after = [R.values[1:].diagonal() for R in matrices]
    note = "Color: points lost since the task was learned"
    return note + ", none if it was not tested then" * bool(np.isnan(right_after).any())


def _sizes(page: Page, learners: int, tasks: int) -> tuple[int, float, float]:
    """Return the columns of the grid, and a panel's width and height in inches, that fit a page.

    A page is 8.8 inches high.
    """
    n_shown = min(tasks, MOST_ANNOTATED)
    scale = page.scale
    height = max(1.2, 0.2 * scale * (n_shown + 1))
    beside = 0.65  # inches beside all panels
    gap = 0.06  # inches between two panels
    # Cells as wide as is easily read or, if the page is then too short, as is just
    # legible.
    for cell_width in (0.255, 0.2):
        most = max(
            1, int((page.max_width - beside) / (n_shown * scale * cell_width + gap))
        )
        columns = layout.balanced(learners, most)
        if math.ceil(learners / columns) * (height + 0.4) < 8.8:
            break
    return columns, max(n_shown * scale * cell_width, 1.8 / columns), height


def _heat_map(
    axes: Axes,
    R: AccuracyMatrix,
    gray: Bools,
    colors: Colormap,
    *,
    legible: bool,
) -> QuadMesh:
    """Draw R, (T+1, T), in percent, a cell for each element; return the colored mesh.

    If `legible`, the cells that are not gray show their numbers.
    """
    T = R.tasks
    # Points lost since the task was learned, R[j, j]; gains, tasks to come and those whose
    # R[j, j] was not measured count as 0.
    tasks_seen, index = np.indices(R.values.shape)
    lost = np.where(tasks_seen <= index, 0, R.values[1:].diagonal() - R.values)
    lost = np.where(np.isnan(R.values), np.nan, np.nan_to_num(lost).clip(0))
    # Gray is the color of numbers below the scale.
    points = np.where(gray, -1, 100 * lost)
    # The hatched ground shows through cells that the mesh leaves out.
    axes.patch.set(facecolor="0.92", hatch="//////", edgecolor="0.7")
    corners = np.arange(T + 1) + 0.5
    mesh = axes.pcolormesh(
        corners,
        np.arange(T + 2) - 0.5,
        np.ma.masked_invalid(points),
        cmap=colors,
        norm=NORM,
        edgecolor="white" if legible else "none",
        linewidth=0.4,
    )
    # Above every cell R[j, j]: from there down task j has been learned.
    axes.step(
        corners,
        corners,
        where="post",
        color="0.2",
        linewidth=1.4 if legible else 0.8,
    )
    axes.set_xticks(layout.ticks(1, T))
    axes.set_yticks(layout.ticks(0, T), ["before", *map(str, layout.ticks(0, T)[1:])])
    strip(axes)
    if legible:
        for row, column in np.argwhere(~np.isnan(R.values) & ~gray):
            text = f"{100 * R.values[row, column]:.0f}"
            write(axes, column + 1, row, text, colors(NORM(points[row, column])))
    return mesh
