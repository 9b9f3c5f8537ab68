"""Per-task F1 against the task's place in the executed order: whom each feature favours.

x: the task's place, from 1; y: its F1 in %, from summary.csv; a panel for each feature, a line for
each learner (Murata et al. 2020, figures 2 and 3).

A learner that forgets is good at the tasks of the last places: its line rises. If it still rises
where only the first layers were held fixed and the rest was retrained, then these layers, too,
serve the last tasks best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import labels, layout, lines, style
from figures.appearance import Appearances, learner_appearances
from figures.networks import Network, networks
from figures.tables import LEVELS, Tables, continual
from probe.tables.rows import SummaryRow


@style.house_style()
def draw(tables: Tables) -> Figure | None:
    """Draw one panel per feature and in it one line per continual learner over the T places.

    The last panel is the deepest feature, the trained model as it is; in the others everything
    after the feature was retrained. Bars are one standard deviation over seeds either way. A line
    that rises is a bias toward the tasks learned last (Murata 2020, figures 2 and 3).

    Where learners have networks of their own, each network has rows of panels of its own. Offline
    training has no order, and so no line, nor has the untrained network. Returns None without a
    continual learner.
    """
    f1 = [row for row in tables.summary if row.measure == "f1" and row.learner not in LEVELS]
    if tables.crowded or not f1:
        return None
    learners = continual(f1)
    appearances = learner_appearances(learners)
    drawn = networks(f1)
    counts = [len(each.features) for each in drawn]
    columns = _columns(counts, most=4 if len(learners) <= style.MANY else 2)
    figure, blocks = _blocks(counts, columns)
    for each, block in zip(drawn, blocks, strict=True):
        _plot_network(block, appearances, each, f1)
        if len(drawn) > 1:
            names = (appearances[name].label for name in each.learners)
            block[0].set_ylabel(labels.folded(labels.listed(names), width=16))
    # One legend for all networks: a learner looks the same in each.
    lines.legend_above(figure, [appearances[name] for name in learners], labels.over_seeds(f1))
    sides = ("Place of the task in the executed order", "F1 of the task (%)")
    layout.fit(figure, [axes for block in blocks for axes in block], sides, height=1.3)
    return figure


def _columns(counts: Sequence[int], most: int) -> int:
    """Return the fewest columns, at most `most`, with which all networks take the fewest rows.

    counts: the number of panels of each network.

    >>> _columns([5], most=4), _columns([6, 4, 2], most=4)
    (3, 4)
    """
    return min(range(1, most + 1), key=lambda columns: sum(_rows(counts, columns)))


def _rows(counts: Sequence[int], columns: int) -> list[int]:
    """Return the number of rows that each network takes."""
    return [math.ceil(count / columns) for count in counts]


def _blocks(counts: Sequence[int], columns: int) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and so many panels for each network, each beginning with a row of its own.

    counts: the number of panels of each network; columns: of the whole figure.
    """
    rows = _rows(counts, columns)
    figure, grid = layout.panels(sum(rows) * columns, columns, wide=columns > 1)
    # Each network begins a row of its own.
    starts = [columns * sum(rows[:k]) for k in range(len(rows))]
    blocks = [grid[start : start + count] for start, count in zip(starts, counts, strict=True)]
    # What is left of a network's last row.
    for unused in set(grid).difference(*blocks):
        unused.remove()
    return figure, blocks


def _plot_network(
    block: Sequence[Axes], appearances: Appearances, network: Network, f1: Sequence[SummaryRow]
) -> None:
    """Draw a panel for each feature of a network, in order of depth."""
    # Learners of another network have features of other names at the same depths.
    for axes, (depth, feature) in zip(block, network.features.items(), strict=True):
        own = [row for row in f1 if row.learner in network.learners and row.depth == depth]
        _plot_feature(axes, appearances, network.learners, own)
        as_trained = " (as\N{NO-BREAK SPACE}trained)" if depth == max(network.features) else ""
        axes.set_title(labels.folded(feature + as_trained))


def _plot_feature(
    axes: Axes, appearances: Appearances, learners: Sequence[str], f1: Sequence[SummaryRow]
) -> None:
    """Draw one line per learner over the places. f1: the rows of one feature."""
    last = max(row.place or 1 for row in f1)
    for name, offset in zip(learners, lines.dodges(len(learners)), strict=True):
        points = {row.place: row for row in f1 if row.learner == name and row.place}
        places = sorted(points)
        x = [place + offset for place in places]
        lines.plot_means(axes, appearances[name], x, [points[place] for place in places])
    axes.set_xticks(layout.ticks(1, last))
    axes.set_xlim(0.5, last + 0.5)
