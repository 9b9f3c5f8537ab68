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
from figures.tables import Tables, continual
from probe.tables.rows import LayerRow

QUESTION = "Do the readouts agree?"
NEEDS = "a learner whose layers were read by two readouts (of one epoch budget)"
TABLES = ("layers",)

_Read = dict[str, dict[str, list[LayerRow]]]  # rows by readout and quantity, by depth


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per learner and in it a line per readout over L layers, between its controls.

    Bars are the 95 % intervals of layers.csv. Returns None where no learner has two readouts.
    """
    drawn = _measured(tables)
    if not drawn:
        return None
    # Learners of no name known to the house have spare appearances, and so have readouts.
    spare = learner_appearances(readout for own in drawn.values() for readout in own)
    looks = {name: replace(look, line="-") for name, look in spare.items()}
    grid = page.panels([page.label(name) for name in drawn], most=3)
    for axes, own in zip(grid, drawn.values(), strict=True):
        for (readout, rows), offset in zip(own.items(), lines.dodges(len(own)), strict=True):
            x = [row.depth + offset for row in rows["accuracy"]]
            lines.plot_means(axes, looks[readout], x, rows["accuracy"])
            for quantity, key in _KEYS.items():
                ends = [100 * row.value for row in rows[quantity]]
                (line,) = axes.plot([row.depth for row in rows[quantity]], ends)
                line.set(color=looks[readout].color, linestyle=key.get_linestyle(), linewidth=0.8)
    lines.widen(grid)
    read = [each["accuracy"] for own in drawn.values() for each in own.values()]
    points = [row for rows in read for row in rows]
    page.legend([*looks.values(), *_KEYS.values()], labels.with_interval(points))
    first = [next(iter(own.values()))["accuracy"] for own in drawn.values()]
    page.name_layers(grid, [{row.depth: row.feature for row in rows} for rows in first])
    page.describe(
        drawn,
        "Accuracy on all tasks downstream of each layer of the network that has learned all tasks, "
        "by the readout that was trained there on all tasks at once; the output is as trained",
        "Dashed: ceiling, the same for the layers of an offline network; dotted: floor, of an "
        "untrained one; each in the color of its readout",
        "The readout linear-task chooses only among the classes of one task"
        * ("linear-task" in looks),
        lines.WIDENED,
        f"{labels.means_are(points)}; bars are 95 % intervals",
        readouts=looks,
    )
    return page.fit(grid, ("Layer, by depth", "Accuracy on all tasks (%)"), height=1.6)


_KEYS = {
    "ceiling": Line2D([], [], color="0.3", ls="--", lw=0.8, label="Ceiling (offline)"),
    "floor": Line2D([], [], color="0.3", ls=":", lw=0.8, label="Floor (untrained)"),
}
"""Entries of the legend for the controls, by their name in layers.csv."""


def _measured(tables: Tables) -> dict[str, _Read]:
    """Return the rows to be drawn by learner, of those with two readouts or more."""
    found: dict[str, _Read] = {name: {} for name in continual(tables.layers)}
    for row in sorted(tables.layers, key=lambda row: row.depth):
        # Multiples of the epochs have a figure of their own.
        known = row.learner in found and row.task_position is None and not math.isnan(row.value)
        if known and row.readout and "@" not in row.readout:
            own = found[row.learner].setdefault(row.readout, defaultdict(list))
            own[row.quantity].append(row)
    return {name: own for name, own in found.items() if len(own) > 1}
