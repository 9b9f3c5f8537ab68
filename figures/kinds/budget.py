"""Accuracy by the budget of retraining: whether more epochs would change what a layer shows.

x: multiples of the retraining's epochs; y: accuracy on all tasks in %, from layers.csv; a panel for
each feature, a line for each learner, for the ceiling (offline) and for the floor (untrained).

Lines that are level at the right have converged. Where a line still rises, the layer may hold more
than was read out; where the floor still rises, the share retained depends on the budget.
"""

import math

from matplotlib.figure import Figure

from figures import labels, lines
from figures.pages.page import Page
from figures.style import MANY
from figures.tables import Tables
from probe.tables.budget_text import MEASURED, budget_curves
from probe.tables.rows import LayerRow

QUESTION = "Would more retraining change what a layer shows?"
NEEDS = "a layer retrained for two multiples of the epochs (--budget 1,4)"
TABLES = ("layers", "learners")


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per feature, a line for each learner and control over the multiples.

    Bars are the 95 % intervals of layers.csv. Returns None where nothing was measured after two.
    """
    panels = _panels(tables)
    learners = dict.fromkeys(learner for learner, _ in budget_curves(tables.layers))
    if tables.crowded or not learners:
        return None
    each = [(name, rows) for own in panels.values() for name, rows in own.items()]
    looks = page.looks([name for name, _ in each])
    grid = page.panels(labels.shortened(list(panels)), most=4 if len(learners) <= MANY else 2)
    for axes, own in zip(grid, panels.values(), strict=True):
        drawn = {name: {math.log2(k): row for k, row in rows.items()} for name, rows in own.items()}
        lines.plot_beside(axes, looks, drawn)
    points = [row for _, rows in each for row in rows.values()]
    page.legend(looks.values(), labels.with_interval(points))
    multiples = sorted({multiple for _, rows in each for multiple in rows})
    at, named = list(map(math.log2, multiples)), list(map(str, multiples))
    page.name_ticks(grid, [at] * len(grid), [named] * len(grid))
    page.describe(
        learners,
        "Accuracy on all tasks after multiples of the retraining's epochs, for each feature",
        "The network that has learned all tasks is held fixed up to the feature, and everything "
        "downstream is retrained on all tasks at once; a line that still rises has not converged",
        labels.means_are(points),
        "Offline: the ceiling, untrained: the floor" * (len(looks) > len(learners)),
        readouts={row.readout for row in points},
    )
    sides = ("Multiple of the retraining's epochs", "Accuracy on all tasks (%)")
    return page.fit(grid, sides, height=1.6)


def _panels(tables: Tables) -> dict[str, dict[str, dict[int, LayerRow]]]:
    """Return the rows to be drawn by feature, by learner or control, and by multiple."""
    panels: dict[str, dict[str, dict[int, LayerRow]]] = {}
    for (learner, feature), curve in budget_curves(tables.layers).items():
        for quantity, control in MEASURED.items():
            if rows := {k: own[quantity] for k, own in curve.items() if quantity in own}:
                panels.setdefault(feature, {})[control or learner] = rows
    return panels
