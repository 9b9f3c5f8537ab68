"""Accuracy downstream of each layer by readout: whether readouts agree on what a layer holds.

x: the layer, by depth; y: accuracy on all tasks in %, from layers.csv; a panel for each learner, a
line for each readout, with its own ceiling (offline, dashed) and floor (untrained, dotted).

Where the lines lie together, what is said of a layer does not depend on the readout. Compare each
with its own floor and ceiling: a stronger readout lifts all three.
"""

import math
from dataclasses import replace

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import captions, lines
from figures.appearance import learner_appearances
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.rows import CONTROLS, LayerRow, grouped

QUESTION = "Do the readouts agree?"
NEEDS = "a learner whose layers were read by two readouts (of one epoch budget)"
TABLES = ("layers",)

_KEYS = {
    "ceiling": Line2D([], [], color="0.3", ls="--", lw=0.8, label="Ceiling (offline)"),
    "floor": Line2D([], [], color="0.3", ls=":", lw=0.8, label="Floor (untrained)"),
}
"""Entries of the legend for the controls, by their name in layers.csv."""


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one panel per learner and in it a line per readout over L layers, between its controls.

    Bars are the 95 % intervals of layers.csv.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None where no learner has two readouts.
    """
    panels = _panels(tables)
    if not panels:
        return None
    # Readouts have spare appearances, as user-defined learners have.
    spare = learner_appearances(readout for rows_of in panels.values() for readout in rows_of)
    looks = {name: replace(look, line="-") for name, look in spare.items()}
    grid = page.panels([page.display_name(name) for name in panels], most=3)
    points: list[LayerRow] = []
    layers = []
    for axes, rows_of in zip(grid, panels.values(), strict=True):
        for (readout, rows), offset in zip(
            rows_of.items(), lines.dodges(len(rows_of)), strict=True
        ):
            accuracy = rows["accuracy"]
            x = [row.depth + offset for row in accuracy]
            lines.plot_means(axes, looks[readout], x, accuracy)
            points += accuracy
            for quantity, key in _KEYS.items():
                control = rows.get(quantity, [])
                heights = [100 * row.value for row in control]
                (line,) = axes.plot([row.depth for row in control], heights)
                line.set(color=looks[readout].color, linestyle=key.get_linestyle(), linewidth=0.8)
        layers.append({row.depth: row.feature for row in next(iter(rows_of.values()))["accuracy"]})
    lines.widen(grid)
    page.legend([*looks.values(), *_KEYS.values()], captions.with_interval(points))
    page.name_layers(grid, layers)
    page.describe(
        panels,
        "Accuracy on all tasks downstream of each layer of the network that has learned all tasks, "
        "by the readout that was trained there on all tasks at once; the output is as trained",
        "Dashed: ceiling, the same for the layers of an offline network; dotted: floor, of an "
        "untrained one; each in the color of its readout",
        "The readout linear-task chooses only among the classes of one task"
        * ("linear-task" in looks),
        lines.WIDENED,
        f"{captions.means_are(points)}; bars are 95 % intervals",
        readouts=looks,
    )
    return page.fit(grid, ("Layer, by depth", "Accuracy on all tasks (%)"), height=1.6)


def _panels(tables: StudyTables) -> dict[str, dict[str, dict[str, list[LayerRow]]]]:
    """Return the rows by learner, of those with two readouts or more, readout and quantity."""
    # Multiples of the epochs have a figure of their own.
    of_readouts = [r for r in tables.layers if r.readout and "@" not in r.readout]
    rows = [r for r in of_readouts if r.task_position is None and not math.isnan(r.value)]
    by_depth = sorted(rows, key=lambda row: row.depth)
    panels = {
        learner: {
            readout: grouped(of_readout, "quantity")
            for readout, of_readout in grouped(by_depth_of, "readout").items()
        }
        for learner, by_depth_of in grouped(by_depth, "learner").items()
    }
    order = dict.fromkeys(row.learner for row in tables.layers if row.learner not in CONTROLS)
    return {name: panels[name] for name in order if len(panels.get(name, ())) > 1}
