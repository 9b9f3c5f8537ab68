"""Accuracy forgotten in each layer against the number of stored samples.

x: samples stored, on a logarithmic scale, with 0, for the learner that stores nothing, at its left;
y: points of accuracy lost on earlier tasks since each was learned, from layers.csv, by a readout
trained downstream of the layer; a panel for each kind of learner and readout, a line for each
layer, dark for the first by depth and light for the output.

If the line of the output falls and those of the layers stay at 0, stored samples help only the
output: the layers had not forgotten. The further a line is from 0 at the left, the more there is to
gain; the number of samples at which it meets 0 is enough for that layer.
"""

from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.kinds.memory import mark_budgets, positions, sweeps
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

QUESTION = "How many stored samples save each layer, and the output?"
NEEDS = "a kind of learner with two budgets, whose layers were read after every task"
TABLES = ("layers", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per kind of learner and readout with a line per layer over the budgets.

    Bars are the 95 % intervals of layers.csv. The learner of kind `finetune` is drawn at 0 if every
    learner of the panel's kind stores samples.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no kind with layers has two budgets.
    """
    points = _rows(tables)
    if points.empty:
        return None
    looks = lines.layer_appearances(zip(points["depth"], points["feature"], strict=True))
    groups = dict(list(points.groupby(["kind", "sampling", "unit", "readout"], sort=False)))
    # What all panels have in common is in no title.
    common = set.intersection(*map(set, groups))
    titles = [
        ", ".join([page.display_name(kind), *(part for part in parts if part not in common)])
        for kind, *parts in groups
    ]
    grid = page.panels(titles, most=3)
    for axes, panel in zip(grid, groups.values(), strict=True):
        lines.scale_points(axes)
        x = positions(panel["budget"])
        closest = min(after - before for before, after in pairwise(x.values()))
        panel = panel.assign(x=panel["budget"].map(x))
        layers = {depth: where(panel, depth=depth) for depth in looks}
        drawn = lines.plot_dodged(axes, looks, layers, "x", most=0.08 * closest, span=0.5 * closest)
        for line, width in zip(drawn, lines.widths(len(drawn)), strict=True):
            line.set_linewidth(width)
        mark_budgets(page, axes, x)
    page.layer_legend(grid, looks, captions.over_seeds(points))
    page.describe(
        points["learner"].unique(),
        "Accuracy forgotten in each layer, in points, against the number of stored samples: the "
        "mean over the tasks before the last of what was lost since each was learned",
        "A readout is trained downstream of the layer after every task, on all tasks at once; the "
        "output is the network itself, and 0 the learner that stores nothing",
        f"Of the vertical axis, {lines.IN_POINTS}",
        captions.means_are(points),
        readouts=set(points["readout"]),
    )
    units = points["unit"].unique()
    x_label = " ".join(["Stored samples", *(units if len(units) == 1 else ())])
    return page.fit(grid, (x_label, "Forgotten (points; below 0: gained)"), height=2.0)


def _rows(tables: StudyTables) -> pd.DataFrame:
    """Return the forgotten accuracy by budget, for each kind, strategy, unit and readout."""
    rows = where(tables.layers, quantity="forgotten", task_position=None).dropna(subset="value")
    # What is forgotten at only the output is in another figure.
    rows = rows[rows.groupby(["readout", "learner"])["value"].transform("size") > 1]
    by_readout = rows.groupby("readout", sort=False)
    swept = [sweeps(tables.learners, layers, empty="finetune") for _, layers in by_readout]
    return pd.concat(swept or [rows])
