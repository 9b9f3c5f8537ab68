"""Per-task F1 against the task's place in the executed order: whom each feature favours."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import looks, parts, style
from probe.table import SummaryRow


def draw(summary: Sequence[SummaryRow]) -> Figure | None:
    """Draw one panel per feature and in it one line per continual learner over the T places.

    The last panel is the deepest feature, the trained model as it is; in the others everything
    after the feature was retrained. Bars are one standard deviation over seeds either way. A line
    that rises is a bias toward the tasks learned last (Murata 2020, figures 2 and 3). Returns None
    without a continual learner.
    """
    f1 = [row for row in summary if row.measure == "f1" and row.learner != style.OFFLINE]
    if not f1:
        return None
    learners = style.continual(f1)
    look = looks.of_learners(learners)
    features = dict(sorted((row.depth, row.feature) for row in f1))
    columns = parts.balanced(len(features), most=4 if len(learners) <= style.MANY else 2)
    with style.house_style():
        width = style.DOUBLE if columns > 1 else style.SINGLE
        figure, grid = parts.panels(len(features), columns, width)
        for axes, (depth, feature) in zip(grid, features.items(), strict=True):
            _panel(axes, look, learners, [row for row in f1 if row.depth == depth])
            as_trained = " (as\N{NO-BREAK SPACE}trained)" if depth == max(features) else ""
            axes.set_title(parts.folded(feature + as_trained))
        keys = [parts.learner_key(look[name]) for name in learners]
        parts.legend_above(figure, keys, parts.seeds_note(f1))
        labels = ("Place of the task in the executed order", "F1 of the task (%)")
        parts.fit(figure, grid, labels, height=1.3)
    return figure


def _panel(
    axes: Axes, look: dict[str, looks.Look], learners: Sequence[str], f1: Sequence[SummaryRow]
) -> None:
    last = max(row.place or 1 for row in f1)
    for name, dodge in zip(learners, parts.dodges(len(learners)), strict=True):
        points = {row.place: row for row in f1 if row.learner == name and row.place}
        places = sorted(points)
        x = [place + dodge for place in places]
        parts.plot_means(axes, look[name], x, [points[place] for place in places])
    axes.set_xticks(parts.ticks(1, last))
    axes.set_xlim(0.5, last + 0.5)
