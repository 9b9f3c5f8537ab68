"""Accuracy by the budget of retraining: whether more epochs would change what a layer shows.

x: multiples of the retraining's epochs; y: accuracy on all tasks in %, from layers.csv; a panel for
each feature, a line for each learner, for the ceiling (offline) and for the floor (untrained).

Lines that are level at the right have converged. Where a line still rises, the layer may hold more
than was read out; where the floor still rises, the share retained depends on the budget.
"""

import math

from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables
from probe.tables.budget_text import MEASURED, budget_curves
from probe.tables.rows import LayerRow

QUESTION = "Would more retraining change what a layer shows?"
NEEDS = "a layer retrained for two multiples of the epochs (--budget 1,4)"
TABLES = ("layers", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one panel per feature, a line for each learner and control over the multiples.

    Bars are the 95 % intervals of layers.csv.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None where no feature was measured at two multiples.
    """
    panels: dict[str, dict[str, dict[float, LayerRow]]] = {}
    curves = budget_curves(tables.layers)
    for (learner, feature), curve in curves.items():
        for quantity, control in MEASURED.items():
            if rows := {math.log2(k): row[quantity] for k, row in curve.items() if quantity in row}:
                panels.setdefault(feature, {})[control or learner] = rows
    learners = dict.fromkeys(learner for learner, _ in curves)
    if tables.crowded or not learners:
        return None
    looks = page.appearances(name for rows in panels.values() for name in rows)
    grid = page.panels(captions.shortened(list(panels)), most=4 if len(learners) <= MANY else 2)
    for axes, rows_by_x in zip(grid, panels.values(), strict=True):
        lines.plot_dodged(axes, looks, rows_by_x)
    drawn = [rows for panel in panels.values() for rows in panel.values()]
    points = [row for rows in drawn for row in rows.values()]
    page.legend(looks.values(), captions.with_interval(points))
    multiples = sorted({k for curve in curves.values() for k in curve})
    ticks, names = list(map(math.log2, multiples)), list(map(str, multiples))
    page.name_ticks(grid, [ticks] * len(grid), [names] * len(grid))
    page.describe(
        learners,
        "Accuracy on all tasks after multiples of the retraining's epochs, for each feature",
        "The network that has learned all tasks is held fixed up to the feature, and everything "
        "downstream is retrained on all tasks at once; a line that still rises has not converged",
        captions.means_are(points),
        "Offline: the ceiling, untrained: the floor" * (len(looks) > len(learners)),
        readouts={row.readout for row in points},
    )
    axis_labels = ("Multiple of the retraining's epochs", "Accuracy on all tasks (%)")
    return page.fit(grid, axis_labels, height=1.6)
