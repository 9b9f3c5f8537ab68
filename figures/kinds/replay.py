"""Accuracy forgotten in each layer against the number of stored samples.

x: samples stored, on a logarithmic scale, with 0, the learner that stores nothing, at its left; y:
points of accuracy lost on the tasks before the last since each was learned, from layers.csv, of a
readout trained downstream of the layer; a panel for each kind of learner and readout, a line for
each layer, dark for the first by depth and light for the output.

Where the line of the output falls and those of the layers are level at 0, samples save only the
output: the layers had not forgotten. The further a line is from 0 at the left, the more there is to
save; where it meets 0, so many samples are enough for that layer.
"""

from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.kinds.memory import UNITS, mark_budgets, positions, sweeps
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

QUESTION = "How many stored samples save each layer, and the output?"
NEEDS = "a kind of learner with two budgets, whose layers were read after every task"
TABLES = ("layers", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one panel per kind of learner and readout, and in it a line per layer over budgets.

    Bars are the 95 % intervals of layers.csv. The learner of kind `finetune` is drawn at 0 if no
    learner of the panel's kind stores nothing.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no kind with layers has two budgets.
    """
    panels = _panels(tables)
    if not panels:
        return None
    points = pd.concat(rows for budgets in panels.values() for rows in budgets.values())
    looks = lines.layer_appearances(zip(points["depth"], points["feature"], strict=True))
    # What all panels have in common is in no title.
    common = set.intersection(*map(set, panels))
    titles = [
        ", ".join([page.display_name(kind), *(part for part in parts if part not in common)])
        for kind, *parts in panels
    ]
    grid = page.panels(titles, most=3)
    for axes, budgets in zip(grid, panels.values(), strict=True):
        lines.scale_points(axes)
        x = positions(budgets)
        closest = min(after - before for before, after in pairwise(x.values()))
        panel = pd.concat(rows.assign(x=x[budget]) for budget, rows in budgets.items())
        layers = {depth: where(panel, depth=depth) for depth in looks}
        sizes = {"most": 0.08 * closest, "span": 0.5 * closest}
        drawn = lines.plot_dodged(axes, looks, layers, "x", **sizes)
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
    units = dict.fromkeys(unit for _, _, unit, _ in panels)
    x_label = " ".join(["Stored samples", *(units if len(units) == 1 else ())])
    return page.fit(grid, (x_label, "Forgotten (points; below 0: gained)"), height=2.0)


def _panels(tables: StudyTables) -> dict[tuple[str, str, str, str], dict[int, pd.DataFrame]]:
    """Return the rows by budget of each kind, strategy, unit of budgets, and readout."""
    forgotten = where(tables.layers, quantity="forgotten", task_position=None)
    forgotten = forgotten.dropna(subset="value")
    panels = {}
    for readout, of_readout in forgotten.groupby("readout", sort=False):
        # What is forgotten at only the output is in another figure.
        groups = of_readout.groupby("learner", sort=False)
        layers = {learner: rows for learner, rows in groups if len(rows) > 1}
        for unit, swept in sweeps(tables.learners, layers, empty="finetune").items():
            for (kind, sampling), budgets in swept.items():
                panels[kind, sampling, UNITS[unit], readout] = budgets
    return panels
