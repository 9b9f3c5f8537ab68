"""Accuracy on each task from the moment it was learned, with all learners in one panel."""

from __future__ import annotations

from matplotlib.figure import Figure

from figures import appearance as looks
from figures import parts, style
from figures.accuracies import Accuracies
from figures.kinds import curves

MOST_PANELS = 20
"""Up to this many tasks each has its panel; beyond, only those whose place an axis would mark."""


def draw(accuracies: Accuracies) -> Figure | None:
    """Draw one panel per place j in the executed order: R[k, j] against k = j..T.

    One line per continual learner; the last panel is A_k, the average over the k tasks learned so
    far (Chaudhry 2018, figure 2). All are means over orders and seeds. Returns None without a
    continual learner.
    """
    matrices = accuracies.matrices
    if not matrices:
        return None
    look = looks.of_learners(list(matrices))
    T = max(R.tasks for R in matrices.values())
    places = list(range(1, T + 1)) if T <= MOST_PANELS else parts.ticks(1, T)
    columns = parts.balanced(len(places) + 1, most=4 if len(places) < 12 else 5)
    with style.house_style():
        figure, (*grid, last) = parts.panels(len(places) + 1, columns, style.DOUBLE)
        for name, R in matrices.items():
            for axes, j in zip(grid, places, strict=True):
                parts.plot_course(axes, look[name], range(j, T + 1), R.values[j:, j - 1])
            parts.plot_course(last, look[name], range(1, T + 1), curves.seen_average(R))
        for axes, j in zip(grid, places, strict=True):
            axes.set_title(f"Task {j}")
        last.set_title("Average of tasks so far")
        for axes in (*grid, last):
            axes.set_xlim(0.5, T + 0.5)
            axes.set_xticks(parts.ticks(1, T))
        parts.legend_above(figure, [parts.learner_key(look[name]) for name in matrices])
        labels = ("Tasks learned so far", accuracies.label)
        parts.fit(figure, [*grid, last], labels, height=1.15)
    return figure
