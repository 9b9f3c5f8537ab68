"""Accuracy downstream of each layer by readout: whether readouts agree on what a layer holds.

x: the layer, by depth; y: accuracy on all tasks in %, from layers.csv; a panel for each learner, a
line for each readout, with its own ceiling (offline, dashed) and floor (untrained, dotted).

Where the lines lie together, what is said of a layer does not depend on the readout. Compare each
with its own floor and ceiling: a stronger readout lifts all three.
"""

import math
from collections import defaultdict
from dataclasses import replace

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import labels, lines
from figures.appearance import learner_appearances
from figures.pages.page import Page
from figures.style import MANY
from figures.tables import CONTROLS, Tables
from probe.analysis.intervals import SeedMean
from probe.tables.rows import LayerRow

QUESTION = "Do the readouts agree?"
NEEDS = "a learner whose layers were read by two readouts (of one epoch budget)"
TABLES = ("layers",)

_CONTROLS = {"ceiling": ("--", "Ceiling (offline)"), "floor": (":", "Floor (untrained)")}
"""Line style and name in print of the controls, by their name in layers.csv."""

_Read = dict[str, dict[str, list[LayerRow]]]  # rows by readout and quantity, by depth


def names(tables: Tables) -> list[str]:
    """Return the learners that are drawn."""
    return list(_measured(tables))


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per learner and in it a line per readout over L layers, between its controls.

    Bars are the 95 % intervals of layers.csv. Returns None where no learner has two readouts.
    """
    drawn = _measured(tables)
    if not drawn:
        return None
    readouts = dict.fromkeys(readout for own in drawn.values() for readout in own)
    spare = learner_appearances(readouts)
    looks = {name: replace(spare[name], line="-") for name in readouts}
    most = 4 if len(drawn) > MANY else 3
    grid = page.panels([page.label(name) for name in drawn], most, wide=len(drawn) > 1)
    shown = [row for own in drawn.values() for each in own.values() for row in each["accuracy"]]
    for axes, own in zip(grid, drawn.values(), strict=True):
        for (readout, rows), offset in zip(own.items(), lines.dodges(len(own)), strict=True):
            look = looks[readout]
            points = [SeedMean(mean=r.value, std=math.nan, seeds=r.seeds) for r in rows["accuracy"]]
            ends = [(row.low, row.high) for row in rows["accuracy"]]
            x = [row.depth + offset for row in rows["accuracy"]]
            lines.plot_means(axes, look, x, points, intervals=ends)
            for quantity, (style, _) in _CONTROLS.items():
                x, y = ([row.depth for row in rows[quantity]], [r.value for r in rows[quantity]])
                axes.plot(x, [100 * value for value in y], color=look.color, ls=style, lw=0.8)
    lines.widen(grid)
    keys = [
        Line2D([], [], color="0.3", ls=ls, lw=0.8, label=name) for ls, name in _CONTROLS.values()
    ]
    page.legend([*looks.values(), *keys], labels.with_interval(shown))
    features = [
        list({r.depth: r.feature for each in own.values() for r in each["accuracy"]}.items())
        for own in drawn.values()
    ]
    page.name_ticks(
        grid,
        [[depth for depth, _ in own] for own in features],
        [labels.shortened([feature for _, feature in own]) for own in features],
    )
    page.describe(
        tables,
        drawn,
        "Accuracy on all tasks downstream of each layer of the network that has learned all tasks, "
        "by the readout that was trained there on all tasks at once",
        "Dashed: ceiling, the same for the layers of an offline network; dotted: floor, of an "
        "untrained one; each of the readout of its color",
        "The readout linear-task tells the classes of one task apart, and so from fewer"
        * ("linear-task" in readouts),
        lines.WIDENED,
        f"{labels.means_are(shown)}; bars are 95 % intervals",
    )
    return page.fit(grid, ("Layer, by depth", "Accuracy on all tasks (%)"), height=1.6)


def _measured(tables: Tables) -> dict[str, _Read]:
    """Return the rows to be drawn by learner, of those with two readouts or more."""
    found: dict[str, _Read] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in sorted(tables.layers, key=lambda row: row.depth):
        # Multiples of the epochs have a figure of their own.
        own = row.learner not in CONTROLS and row.readout and "@" not in row.readout
        if own and row.place is None and not math.isnan(row.value):
            found[row.learner][row.readout][row.quantity].append(row)
    order = dict.fromkeys(row.learner for row in tables.layers)
    return {name: found[name] for name in order if len(found.get(name, ())) > 1}
