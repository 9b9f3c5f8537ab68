"""Accuracy by retraining budget: whether more epochs would change what a layer shows.

x: multiples of the retraining's epochs; y: accuracy on all tasks in %, from layers.csv; a panel for
each feature, a line for each learner, for the ceiling (offline) and for the floor (untrained).

Lines that are level at the right have converged. If a line still rises, the layer may hold more
than was read out; if the floor still rises, the share retained depends on the budget.
"""

import math

import numpy as np
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables
from probe.tables.layer_text import MEASURED, budget_curves
from probe.tables.table_file import where

QUESTION = "Would more retraining change what a layer shows?"
NEEDS = "a layer retrained for two multiples of the epochs (--budget 1,4)"
TABLES = ("layers", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per feature with a line for each learner and control over the multiples.

    Bars are the 95 % intervals of layers.csv.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no feature was measured at two multiples.
    """
    curves = budget_curves(tables.layers)
    rows = where(curves, quantity=MEASURED)
    control = rows["quantity"].map(MEASURED)
    rows = rows.assign(line=control.where(control != "", rows["learner"]))
    rows["x"] = np.log2(rows["multiple"])
    learners = curves["learner"].unique()
    if tables.crowded or not len(learners):
        return None
    looks = page.appearances(rows["line"].unique())
    features = rows["feature"].unique()
    grid = page.panels(captions.shortened(features), most=4 if len(learners) <= MANY else 2)
    for axes, feature in zip(grid, features, strict=True):
        panel = where(rows, feature=feature)
        # Floor and ceiling come once for each learner.
        rows_of = {
            line: where(panel, line=line).drop_duplicates("x", keep="last")
            for line in panel["line"].unique()
        }
        lines.plot_dodged(axes, looks, rows_of, "x")
    page.legend(looks.values(), captions.over_seeds(rows))
    multiples = sorted(set(rows["multiple"]))
    ticks, names = list(map(math.log2, multiples)), list(map(str, multiples))
    page.name_ticks(grid, [ticks] * len(grid), [names] * len(grid))
    page.describe(
        learners,
        "Accuracy on all tasks after multiples of the retraining's epochs, for each feature",
        "The network that has learned all tasks is held fixed up to the feature, and everything "
        "downstream is retrained on all tasks at once; a line that still rises has not converged",
        captions.means_are(rows),
        "Offline: the ceiling, untrained: the floor" * (len(looks) > len(learners)),
        readouts=set(rows["readout"]),
    )
    axis_labels = ("Multiple of the retraining's epochs", "Accuracy on all tasks (%)")
    return page.fit(grid, axis_labels, height=1.6)
