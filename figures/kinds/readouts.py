"""Accuracy downstream of each layer by readout: whether readouts agree on what a layer holds.

x: the layer, by depth; y: accuracy on all tasks in %, from layers.csv; a panel for each learner, a
line for each readout, with its own ceiling (offline, dashed) and floor (untrained, dotted).

Where the lines lie together, conclusions on a layer do not depend on the readout. Compare each line
with its own floor and ceiling: a stronger readout lifts all three.
"""

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import captions, lines
from figures.appearance import learner_appearances
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

QUESTION = "Do the readouts agree?"
NEEDS = "a learner whose layers were read by two readouts (with the same epoch budget)"
TABLES = ("layers",)

_KEYS = {
    "ceiling": Line2D([], [], color="0.3", ls="--", lw=0.8, label="Ceiling (offline)"),
    "floor": Line2D([], [], color="0.3", ls=":", lw=0.8, label="Floor (untrained)"),
}
"""Entries of the legend for the controls, by their name in layers.csv."""


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per learner with a line per readout over L layers, between its controls.

    Bars are the 95 % intervals of layers.csv.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no learner has two readouts.
    """
    layers = _layers(tables.layers).sort_values("depth", kind="stable")
    panels = {k: where(layers, learner=k) for k in layers["learner"].unique()}
    if not panels:
        return None
    # Readouts have spare appearances, as user-defined learners have.
    spare = learner_appearances(layers["readout"].unique())
    looks = {name: replace(look, line="-") for name, look in spare.items()}
    grid = page.panels([page.display_name(name) for name in panels], most=3)
    points = where(layers, quantity="accuracy")
    names = []
    for axes, panel in zip(grid, panels.values(), strict=True):
        groups = list(panel.groupby("readout", sort=False))
        for (readout, rows), offset in zip(groups, lines.dodges(len(groups)), strict=True):
            accuracy = where(rows, quantity="accuracy")
            lines.plot_means(axes, looks[readout], accuracy["depth"] + offset, accuracy)
            for quantity, key in _KEYS.items():
                control = where(rows, quantity=quantity)
                (line,) = axes.plot(control["depth"], 100 * control["value"])
                line.set(color=looks[readout].color, linestyle=key.get_linestyle(), linewidth=0.8)
        names.append(dict(zip(panel["depth"], panel["feature"], strict=True)))
    lines.widen(grid)
    page.legend([*looks.values(), *_KEYS.values()], captions.over_seeds(points))
    page.name_layers(grid, names)
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


def _layers(layers: pd.DataFrame) -> pd.DataFrame:
    """Return the rows over all tasks of learners with two readouts or more."""
    # Multiples of the epochs and numbers of examples have figures of their own.
    of_readouts = (layers["readout"] != "") & ~layers["readout"].str.contains("[@:]")
    rows = where(layers[of_readouts], task_position=None).dropna(subset="value")
    return rows[rows.groupby("learner")["readout"].transform("nunique") > 1]
