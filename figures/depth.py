"""PRA against feature: how well all tasks can still be learned on what each layer kept."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import looks, parts, style
from probe.table import SummaryRow


def draw(summary: Sequence[SummaryRow]) -> Figure | None:
    """Draw one line per continual learner over L features, with Offline as a dashed level.

    Bars and band are one standard deviation over seeds either way. Offline's one value is the
    same at every feature (Murata 2020, figure 1). Returns None without a continual learner, and
    where nothing but the output was looked at.
    """
    pra = [row for row in summary if row.measure == "pra"]
    learners = style.continual(pra)
    if not learners:
        return None
    look = looks.of_learners(row.learner for row in pra)
    features = dict(sorted((row.depth, row.feature) for row in pra))
    if len(features) < 2:
        return None
    with style.house_style():
        wide = len(features) > 8 or len(learners) > style.MANY
        figure, (axes,) = parts.panels(1, 1, style.DOUBLE if wide else style.SINGLE)
        keys = [parts.learner_key(look[name]) for name in learners]
        for name, dodge in zip(learners, parts.dodges(len(learners)), strict=True):
            points = sorted((row for row in pra if row.learner == name), key=lambda r: r.depth)
            parts.plot_means(axes, look[name], [row.depth + dodge for row in points], points)
        offline = [row for row in pra if row.learner == style.OFFLINE]
        if offline:
            keys.append(_level(axes, look[style.OFFLINE], max(offline, key=lambda r: r.depth)))
        axes.set_xlim(min(features) - 0.4, max(features) + 0.4)
        parts.legend_above(figure, keys, parts.seeds_note(pra))
        parts.name_places(figure, axes, list(features), parts.shortened(list(features.values())))
        labels = ("Feature held fixed, by depth", "Partial Retrain Accuracy (%)")
        parts.fit(figure, [axes], labels, height=2.0)
    return figure


def _level(axes: Axes, look: looks.Look, row: SummaryRow) -> Line2D:
    line = axes.axhline(100 * row.mean, color=look.colour, linestyle=look.line, label=look.label)
    if row.seeds > 1:
        low, high = 100 * (row.mean - row.std), 100 * (row.mean + row.std)
        axes.axhspan(low, high, color=look.colour, alpha=0.15, linewidth=0)
    return line
