"""Accuracy by retraining budget (`budget`), and by the examples of a new head (`repair`).

x: multiples of the retraining's epochs, or examples of each class; y: accuracy on all
tasks in %, from layers.csv; a panel for each feature, a line for each learner, for the
joint network and for an untrained one, each retrained alike.

`budget`: lines that are level at the right have converged. If a line still rises, the
layer may hold more than was read out; if untrained still rises, the share retained
depends on the budget.

`repair`: a layer that needs as many examples as an untrained one has kept nothing that
a new head could use.
"""

import math
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.kinds import Kind
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables
from probe.tables.layer_text import (
    MEASURED,
    AmountOf,
    curves,
    multiple_of,
    per_class_of,
)
from probe.tables.table_file import where


def draw(
    tables: StudyTables, page: Page, amount_of: AmountOf, label: str, about: str
) -> Figure | None:
    """Draw a panel per feature with a line for each learner and control over the amounts.

    Bars are the 95 % intervals of layers.csv. The amounts are drawn at equal distances.

    Args:
        tables: The tables of the study.
        page: The page to draw on.
        amount_of: Function that returns the amount of a readout.
        label: The label of the axis of amounts.
        about: The first sentences of the caption.

    Returns:
        The figure; None if no feature was measured with two amounts, or if there are
        too many learners.
    """
    # Accuracies of learners and controls (by `quantity`) for each readout's amount.
    measured = curves(tables.layers, amount_of)
    if tables.crowded or measured.empty:
        return None
    learners = measured["learner"].unique()
    rows = _points(measured)
    looks = page.appearances(rows["line"].unique())
    features = rows["feature"].unique()
    most = 4 if len(learners) <= MANY else 2
    grid = page.panels(captions.shortened(features), most)
    for axes, feature in zip(grid, features, strict=True):
        rows_of = {}
        for line, points in where(rows, feature=feature).groupby("line", sort=False):
            # Untrained and joint come once for each learner.
            rows_of[line] = points.drop_duplicates("x", keep="last")
        lines.plot_dodged(axes, looks, rows_of, "x", most=0.04)
    page.legend(looks.values(), captions.over_seeds(rows))
    amounts = sorted(set(rows["amount"]))
    names = [f"{amount:.0f}" if amount < math.inf else "all" for amount in amounts]
    page.name_ticks(grid, [dict(enumerate(names))] * len(grid))
    page.describe(
        learners,
        about,
        captions.over_seeds(rows),
        "Joint: trained on all tasks at once",
        readouts=set(rows["readout"]),
    )
    return page.fit(grid, (label, "Accuracy on all tasks (%)"), height=1.6)


def _points(measured: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies with the name of their line, and their place `x` by the amount."""
    rows = where(measured, quantity=MEASURED)
    # A line is named by its control, "" for an accuracy of the learner itself.
    control = rows["quantity"].map(MEASURED)
    rows = rows.assign(line=control.where(control != "", rows["learner"]))
    # Amounts at equal distances along x.
    return rows.assign(x=rows["amount"].rank(method="dense").astype(int) - 1)


_TABLES = ("layers", "learners")

budget = Kind(
    partial(
        draw,
        amount_of=multiple_of,
        label="Multiple of the retraining's epochs",
        about="Accuracy on all tasks after multiples of the retraining's epochs, for "
        "each feature. The network that has learned all tasks is held fixed up to the "
        "feature, and everything downstream is retrained on all tasks at once; a line "
        "that still rises has not converged",
    ),
    "Would more retraining change what a layer shows?",
    "a layer retrained for two multiples of the epochs (--epoch-multiples 1,4)",
    _TABLES,
)

repair = Kind(
    partial(
        draw,
        amount_of=per_class_of,
        label="Examples of each class",
        about="Accuracy on all tasks of a linear classifier on each feature of the "
        "network that has learned all tasks, by the number of training examples of "
        "each class that it is fitted to",
    ),
    "How many examples does a new head need?",
    "the readout linear with two numbers of examples (readouts linear:1, linear:20)",
    _TABLES,
)
