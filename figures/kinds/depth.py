"""PRA against feature: how well all tasks can still be learned on what each layer kept."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import appearance as looks
from figures import lettering, networks, parts, style
from probe.tables.rows import SummaryRow


def draw(summary: Sequence[SummaryRow]) -> Figure | None:
    """Draw one line per continual learner over L features, with Offline as a dashed level.

    Bars and band are one standard deviation over seeds either way. Offline's one value is the
    same at every feature (Murata 2020, figure 1). Learners with networks of their own have panels
    of their own, in which Offline is still that of the study's network. Returns None without a
    continual learner, and where nothing but the output was looked at.
    """
    pra = [row for row in summary if row.measure == "pra"]
    drawn = [each for each in networks.networks(pra) if len(each.features) > 1]
    if not drawn:
        return None
    learners = [name for name in style.continual(pra) if any(name in n.learners for n in drawn)]
    look = looks.of_learners(row.learner for row in pra)
    offline = max((r for r in pra if r.learner == style.OFFLINE), key=_depth, default=None)
    wide = max(len(each.features) for each in drawn) > 8 or len(learners) > style.MANY
    alone = len(drawn) == 1
    with style.house_style():
        width = style.SINGLE if alone and not wide else style.DOUBLE
        figure, grid = parts.panels(len(drawn), parts.balanced(len(drawn), most=4), width)
        for axes, each in zip(grid, drawn, strict=True):
            _lines(axes, look, each, pra)
            if not alone:
                axes.set_title(lettering.folded(networks.named(look, each.learners)))
        levels = [_level(axes, look[style.OFFLINE], offline) for axes in grid if offline]
        keys = [parts.learner_key(look[name]) for name in learners]
        parts.legend_above(figure, [*keys, *levels[:1]], parts.seeds_note(pra))
        for axes, each in zip(grid, drawn, strict=True):
            names = lettering.shortened(list(each.features.values()))
            parts.name_places(figure, axes, list(each.features), names)
        labels = ("Feature held fixed, by depth", "Partial Retrain Accuracy (%)")
        parts.fit(figure, grid, labels, height=2.0 if alone else 1.7)
    return figure


def _lines(
    axes: Axes, look: dict[str, looks.Look], network: networks.Network, pra: Sequence[SummaryRow]
) -> None:
    dodges = parts.dodges(len(network.learners))
    for name, dodge in zip(network.learners, dodges, strict=True):
        points = sorted((row for row in pra if row.learner == name), key=_depth)
        parts.plot_means(axes, look[name], [row.depth + dodge for row in points], points)
    axes.set_xlim(min(network.features) - 0.4, max(network.features) + 0.4)


def _depth(row: SummaryRow) -> int:
    return row.depth


def _level(axes: Axes, look: looks.Look, row: SummaryRow) -> Line2D:
    line = axes.axhline(100 * row.mean, color=look.color, linestyle=look.line, label=look.label)
    if row.seeds > 1:
        low, high = 100 * (row.mean - row.std), 100 * (row.mean + row.std)
        axes.axhspan(low, high, color=look.color, alpha=0.15, linewidth=0)
    return line
