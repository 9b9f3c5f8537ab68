"""PRA against feature: how well all tasks can still be learned on what each layer kept.

x: the feature up to which the network was held fixed, by depth; y: Partial Retrain Accuracy in %,
from summary.csv; a line for each learner, a dashed one for offline training (Murata et al. 2020,
figure 1).

From the left, where little is held fixed and almost all is retrained, to the right, where the
model is as it was trained. Where a learner's line leaves Offline's level its layers begin to lack
what the tasks need; how far it is below at the last feature is what it lacks in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import labels, layout, lines, style
from figures.appearance import Appearance, Appearances, learner_appearances
from figures.networks import Network, networks
from figures.tables import OFFLINE, Tables, continual
from probe.tables.rows import SummaryRow


@style.house_style()
def draw(tables: Tables) -> Figure | None:
    """Draw one line per continual learner over L features, with Offline as a dashed level.

    Bars and band are one standard deviation over seeds either way. Offline's one value is the same
    at every feature (Murata 2020, figure 1), as all of its network is trained on all tasks.

    Learners with networks of their own have panels of their own, in which Offline is still that of
    the study's network. Returns None without a continual learner, and where nothing but the output
    was looked at.
    """
    pra = [row for row in tables.summary if row.measure == "pra"]
    drawn = [each for each in networks(pra) if len(each.features) > 1]
    if tables.crowded or not drawn:
        return None
    learners = [name for name in continual(pra) if any(name in n.learners for n in drawn)]
    appearances = learner_appearances(row.learner for row in pra)
    # It has one row, at the output; should there be others, the deepest is the model as it is.
    offline = max((r for r in pra if r.learner == OFFLINE), key=attrgetter("depth"), default=None)
    wide = max(len(each.features) for each in drawn) > 8 or len(learners) > style.MANY
    alone = len(drawn) == 1
    figure, grid = layout.panels(len(drawn), most=4, wide=wide or not alone)
    for axes, each in zip(grid, drawn, strict=True):
        _plot_network(axes, appearances, each, pra)
        if not alone:
            names = (appearances[name].label for name in each.learners)
            axes.set_title(labels.folded(labels.listed(names)))
    # One for each panel; the legend needs only the first.
    levels = [_plot_level(axes, appearances[OFFLINE], offline) for axes in grid if offline]
    drawn_as = [appearances[name] for name in learners]
    lines.legend_above(figure, [*drawn_as, *levels[:1]], labels.over_seeds(pra))
    # After the legend, whose height has to be known before names can be seen to touch.
    for axes, each in zip(grid, drawn, strict=True):
        features = labels.shortened(list(each.features.values()))
        layout.name_ticks(figure, axes, list(each.features), features)
    sides = ("Feature held fixed, by depth", "Partial Retrain Accuracy (%)")
    layout.fit(figure, grid, sides, height=2.0 if alone else 1.7)
    return figure


def _plot_network(
    axes: Axes, appearances: Appearances, network: Network, pra: Sequence[SummaryRow]
) -> None:
    """Draw a line for each learner of a network, slightly beside each other."""
    offsets = lines.dodges(len(network.learners))
    for name, offset in zip(network.learners, offsets, strict=True):
        points = sorted((row for row in pra if row.learner == name), key=attrgetter("depth"))
        lines.plot_means(axes, appearances[name], [row.depth + offset for row in points], points)
    axes.set_xlim(min(network.features) - 0.4, max(network.features) + 0.4)


def _plot_level(axes: Axes, appearance: Appearance, row: SummaryRow) -> Line2D:
    """Draw a level and, of several seeds, the band around it; return the legend's entry.

    row: the PRA of offline training, a fraction.
    """
    level = axes.axhline(
        100 * row.mean, color=appearance.color, linestyle=appearance.line, label=appearance.label
    )
    if row.seeds > 1:
        low, high = 100 * (row.mean - row.std), 100 * (row.mean + row.std)
        axes.axhspan(low, high, color=appearance.color, alpha=0.15, linewidth=0)
    return level
