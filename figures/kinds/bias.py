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

from figures import labels, layout, lines
from figures.appearance import Appearances
from figures.networks import Network, networks
from figures.pages.page import HOUSE, Page, on_page
from figures.style import MANY
from figures.tables import LEVELS, Tables, continual
from probe.tables.rows import SummaryRow

NEEDS = "a learner and the F1 of its tasks"
"""What has to be there for anything to be drawn."""

TABLES = ("summary", "learners")
ORDER = 4


def names(tables: Tables) -> list[str]:
    """Return the learners that are drawn."""
    return continual(_f1(tables))


@on_page
def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per feature and in it one line per continual learner over the T places.

    The last panel is the deepest feature, the trained model as it is; in the others everything
    after the feature was retrained. Bars are one standard deviation over seeds either way. A line
    that rises is a bias toward the tasks learned last (Murata 2020, figures 2 and 3).

    Where learners have networks of their own, each network has rows of panels of its own. Offline
    training has no order, and so no line, nor has the untrained network. Returns None without a
    continual learner.
    """
    f1 = _f1(tables)
    if tables.crowded or not f1:
        return None
    learners = continual(f1)
    appearances = page.looks(learners)
    drawn = networks(f1)
    titles = [_titles(each) for each in drawn]
    most = page.across(4 if len(learners) <= MANY else 2)
    columns = _columns([len(each) for each in titles], most)
    figure, blocks = page.blocks(titles, columns, wide=columns > 1)
    for each, block in zip(drawn, blocks, strict=True):
        _plot_network(block, appearances, each, f1)
        if len(drawn) > 1:
            network = (appearances[name].label for name in each.learners)
            block[0].set_ylabel(labels.folded(labels.listed(network), width=16))
    # One legend for all networks: a learner looks the same in each.
    page.legend(figure, [appearances[name] for name in learners], labels.over_seeds(f1))
    sides = ("Place of the task in the executed order", "F1 of the task (%)")
    page.fit(figure, [axes for block in blocks for axes in block], sides, height=1.3)
    return figure


def caption(tables: Tables, page: Page = HOUSE) -> str:
    """Say what is drawn, of which data, network and learners, and what its marks are."""
    f1 = _f1(tables)
    return labels.caption(
        "F1 of each task by its place in the executed order, behind each feature",
        "Up to the feature the network that has learned all tasks is held fixed, and all after it "
        "is retrained on all tasks at once; the last panel is the network as it was trained",
        labels.learners_named([page.label(name) for name in continual(f1)]),
        labels.points_are(f1),
        labels.measured_on(tables.rows),
    )


def _f1(tables: Tables) -> list[SummaryRow]:
    return [row for row in tables.summary if row.measure == "f1" and row.learner not in LEVELS]


def _titles(network: Network) -> list[str]:
    """Return the title of each feature's panel, in order of depth."""
    deepest = max(network.features)
    return [
        feature + (" (as\N{NO-BREAK SPACE}trained)" if depth == deepest else "")
        for depth, feature in network.features.items()
    ]


def _columns(counts: Sequence[int], most: int) -> int:
    """Return the fewest columns, at most `most`, with which all networks take the fewest rows.

    counts: the number of panels of each network.

    >>> _columns([5], most=4), _columns([6, 4, 2], most=4)
    (3, 4)
    """

    def rows(columns: int) -> int:
        return sum(math.ceil(count / columns) for count in counts)

    return min(range(1, most + 1), key=rows)


def _plot_network(
    block: Sequence[Axes], appearances: Appearances, network: Network, f1: Sequence[SummaryRow]
) -> None:
    """Draw a panel for each feature of a network, in order of depth."""
    # Learners of another network have features of other names at the same depths.
    for axes, depth in zip(block, network.features, strict=True):
        own = [row for row in f1 if row.learner in network.learners and row.depth == depth]
        _plot_feature(axes, appearances, network.learners, own)


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
