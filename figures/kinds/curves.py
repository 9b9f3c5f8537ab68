"""Accuracy of each task, and their average, as tasks are learned.

x: the number of tasks learned; y: accuracy in %, from measurements.csv; a panel for each learner, a
line for each task, dark for the first learned and light for the last. The black line is Chaudhry et
al. 2018's average accuracy.

Each line is a column of R. From its dot on a task is forgotten, or improves, while others are
learned; before the dot the network has not learned it yet.
"""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from figures import labels, layout
from figures.kinds import matrix
from figures.pages.page import Page
from figures.tables import Tables
from probe.metrics.matrix import AccuracyMatrix

MOST_NAMED = 10
"""Most tasks that the legend names; of more, a color bar shows the positions.

More entries would take more room than the panels.
"""

QUESTION = "How does the accuracy on each task change?"
NEEDS, TABLES = matrix.NEEDS, matrix.TABLES


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per continual learner: accuracy against the number k of tasks learned.

    A colored line per task, by its position in the executed order: faint before it is learned, then
    from a dot on; in black the average over the k tasks learned so far (A_k, Chaudhry 2018). All
    are means over orders and seeds. Returns None without a continual learner.
    """
    matrices = tables.matrices
    if not matrices:
        return None
    # Of the longest stream: a position has one color in all panels.
    T = max(R.tasks for R in matrices.values())
    palette = matplotlib.colormaps["viridis"](np.linspace(0, 0.88, T))
    grid = page.panels([page.label(name) for name in matrices], most=3)
    for axes, R in zip(grid, matrices.values(), strict=True):
        _plot_tasks(axes, R, tables.impossible(R), palette)
    _name_places(page, grid, palette)
    sides = ("Tasks learned so far", labels.with_head("Accuracy (%)", tables.measurements))
    page.describe(
        matrices,
        "Accuracy on each task as tasks are learned, one after another",
        "Each line is a task, numbered by its position in the executed order: faint until it is "
        "learned at the dot; black is the average over the tasks learned so far",
        *labels.of_accuracies(tables, "All"),
    )
    return page.fit(grid, sides, height=1.45)


def _plot_tasks(
    axes: Axes, R: AccuracyMatrix, void: NDArray[np.bool_], palette: NDArray[np.float64]
) -> None:
    """Draw the columns of R, (T+1, T), and their average.

    void: cells of R that are left out; palette: colors by position, (T, 4).
    """
    # Two lines for each task, as one line has one transparency.
    steps, percent = np.arange(R.tasks + 1), np.where(void, np.nan, 100 * R.values)
    for task_position in steps[1:]:
        accuracy, color = percent[:, task_position - 1], palette[task_position - 1]
        # Both lines have the point at which the task is learned, so that they meet.
        axes.plot(
            steps[: task_position + 1],
            accuracy[: task_position + 1],
            color=color,
            alpha=0.45,
            lw=0.6,
        )
        axes.plot(
            steps[task_position:],
            accuracy[task_position:],
            color=color,
            marker="o",
            ms=3.4,
            markevery=[0],
        )
    axes.plot(steps[1:], 100 * seen_average(R), color="black", lw=2)
    axes.set_xticks(layout.ticks(0, R.tasks))


def seen_average(R: AccuracyMatrix) -> NDArray[np.float64]:
    """Return A_k, the mean of R[k, 1..k], for k = 1..T: (T,), NaN where a cell is missing.

    R: (T+1, T) fractions. Source: Chaudhry 2018, section 3 (average accuracy).

    >>> seen_average(AccuracyMatrix.square([[0.9, 0.1], [0.5, 0.8]]))
    array([0.9 , 0.65])
    """
    return np.array([R.values[k, :k].mean() for k in range(1, R.tasks + 1)])


def _name_places(page: Page, grid: list[Axes], palette: NDArray[np.float64]) -> None:
    """Explain the colors of task positions, in a legend or, of many, by a color bar.

    palette: (T, 4).
    """
    average = Line2D([], [], color="black", lw=2, label="average so far")
    tasks, title = len(palette), "Task position"
    # Beside the panels: positions stand below each other in the order of learning.
    if tasks <= MOST_NAMED:
        places = [
            Line2D([], [], color=color, marker="o", ms=3.4, label=str(task_position))
            for task_position, color in enumerate(palette, start=1)
        ]
        page.legend_right([*places, average], title)
    else:
        page.color_steps(grid, palette, title)
        page.legend([average])
