"""Accuracy of each task, and their average, as tasks are learned."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from figures import appearance as looks
from figures import lettering, parts, style
from figures.accuracies import Accuracies
from probe.metrics.matrix import AccuracyMatrix

MOST_NAMED = 10
"""Up to this many tasks the legend names each; beyond, a color bar stands for the places."""


def draw(accuracies: Accuracies) -> Figure | None:
    """Draw one panel per continual learner: accuracy against the number k of tasks learned.

    A colored line per task, by its place in the executed order: faint before it is learned, then
    from a dot on; in black the average over the k tasks learned so far (A_k, Chaudhry 2018). All
    are means over orders and seeds. Returns None without a continual learner.
    """
    matrices = accuracies.matrices
    if not matrices:
        return None
    look = looks.of_learners(list(matrices))
    palette = colors(max(R.tasks for R in matrices.values()))
    columns = parts.balanced(len(matrices), most=3)
    with style.house_style():
        width = style.DOUBLE if columns > 1 else style.SINGLE
        figure, grid = parts.panels(len(matrices), columns, width)
        for axes, (name, R) in zip(grid, matrices.items(), strict=True):
            _panel(axes, R, palette)
            axes.set_title(lettering.folded(look[name].label))
        _key(figure, grid, palette)
        parts.fit(figure, grid, ("Tasks learned so far", accuracies.label), height=1.45)
    return figure


def colors(tasks: int) -> NDArray[np.float64]:
    """Return a color per place, (T, 4) RGBA: from dark (learned first) to light (learned last)."""
    return matplotlib.colormaps["viridis"](np.linspace(0, 0.88, tasks))


def seen_average(R: AccuracyMatrix) -> NDArray[np.float64]:
    """Return A_k, the mean of R[k, 1..k], for k = 1..T: (T,), NaN where a cell is missing.

    >>> seen_average(AccuracyMatrix.square([[0.9, 0.1], [0.5, 0.8]]))
    array([0.9 , 0.65])
    """
    return np.array([R.values[k, :k].mean() for k in range(1, R.tasks + 1)])


def _panel(axes: Axes, R: AccuracyMatrix, palette: NDArray[np.float64]) -> None:
    steps, percent = np.arange(R.tasks + 1), 100 * R.values
    for place in steps[1:]:
        accuracy, color = percent[:, place - 1], palette[place - 1]
        axes.plot(steps[: place + 1], accuracy[: place + 1], color=color, alpha=0.45, lw=0.6)
        axes.plot(steps[place:], accuracy[place:], color=color, marker="o", ms=3.4, markevery=[0])
    axes.plot(steps[1:], 100 * seen_average(R), color="black", lw=2)
    axes.set_xticks(parts.ticks(0, R.tasks))


def _key(figure: Figure, grid: list[Axes], palette: NDArray[np.float64]) -> None:
    average = Line2D([], [], color="black", lw=2, label="average so far")
    tasks = len(palette)
    if tasks <= MOST_NAMED:
        places = [
            Line2D([], [], color=color, marker="o", ms=3.4, label=str(place))
            for place, color in enumerate(palette, start=1)
        ]
        figure.legend(
            handles=[*places, average], loc="outside right upper", title="Place of the task"
        )
    else:
        scale = ScalarMappable(Normalize(0.5, tasks + 0.5), ListedColormap(palette))
        bar = figure.colorbar(
            scale,
            ax=grid,
            fraction=0.05,
            pad=0.02,
            aspect=25,
            label="Place of the task",
            ticks=parts.ticks(1, tasks),
        )
        bar.outline.set_visible(False)
        parts.legend_above(figure, [average])
