"""Per-task F1 against the task's place in the executed order: whom each feature favours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import appearance as looks
from figures import lettering, networks, parts, style
from probe.tables.rows import SummaryRow


def draw(summary: Sequence[SummaryRow]) -> Figure | None:
    """Draw one panel per feature and in it one line per continual learner over the T places.

    The last panel is the deepest feature, the trained model as it is; in the others everything
    after the feature was retrained. Bars are one standard deviation over seeds either way. A line
    that rises is a bias toward the tasks learned last (Murata 2020, figures 2 and 3). Where
    learners have networks of their own, each network has a row of panels. Returns None without a
    continual learner.
    """
    f1 = [row for row in summary if row.measure == "f1" and row.learner != style.OFFLINE]
    if not f1:
        return None
    learners = style.continual(f1)
    look = looks.of_learners(learners)
    drawn = networks.networks(f1)
    counts = [len(each.features) for each in drawn]
    columns = _columns(counts, most=4 if len(learners) <= style.MANY else 2)
    with style.house_style():
        width = style.DOUBLE if columns > 1 else style.SINGLE
        figure, blocks = _blocks(counts, columns, width)
        for each, block in zip(drawn, blocks, strict=True):
            _network(block, look, each, f1)
            if len(drawn) > 1:
                block[0].set_ylabel(lettering.folded(networks.named(look, each.learners), width=16))
        keys = [parts.learner_key(look[name]) for name in learners]
        parts.legend_above(figure, keys, parts.seeds_note(f1))
        labels = ("Place of the task in the executed order", "F1 of the task (%)")
        parts.fit(figure, [axes for block in blocks for axes in block], labels, height=1.3)
    return figure


def _columns(counts: Sequence[int], most: int) -> int:
    """Return the fewest columns, at most `most`, with which all networks take the fewest rows.

    >>> _columns([5], most=4), _columns([6, 4, 2], most=4)
    (3, 4)
    """
    return min(range(1, most + 1), key=lambda columns: sum(_rows(counts, columns)))


def _rows(counts: Sequence[int], columns: int) -> list[int]:
    return [math.ceil(count / columns) for count in counts]


def _blocks(counts: Sequence[int], columns: int, width: float) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and so many panels for each network, each beginning with a row of its own."""
    rows = _rows(counts, columns)
    figure, grid = parts.panels(sum(rows) * columns, columns, width)
    cells, blocks = iter(grid), []
    for count, high in zip(counts, rows, strict=True):
        block = list(islice(cells, high * columns))
        for unused in block[count:]:
            unused.remove()
        blocks.append(block[:count])
    return figure, blocks


def _network(
    block: Sequence[Axes],
    look: dict[str, looks.Look],
    network: networks.Network,
    f1: Sequence[SummaryRow],
) -> None:
    own = [row for row in f1 if row.learner in network.learners]
    for axes, (depth, feature) in zip(block, network.features.items(), strict=True):
        _panel(axes, look, network.learners, [row for row in own if row.depth == depth])
        as_trained = " (as\N{NO-BREAK SPACE}trained)" if depth == max(network.features) else ""
        axes.set_title(lettering.folded(feature + as_trained))


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
