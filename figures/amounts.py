"""Accuracies downstream of each feature by the amount of something, such as epochs or examples."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.style import MANY
from probe.tables.layer_text import MEASURED
from probe.tables.table_file import where


def draw_amounts(
    curves: pd.DataFrame, page: Page, names: Mapping[float, str], amount: str, *about: str
) -> Figure:
    """Draw a panel per feature with a line for each learner and control over the amounts.

    Bars are the 95 % intervals of layers.csv.

    Args:
        curves: The rows of `probe.tables.layer_text.curves`.
        page: The page to draw on.
        names: The names of the amounts, in ascending order; they are drawn at equal distances.
        amount: The label of their axis.
        about: The sentences of the caption.

    Returns:
        The figure.
    """
    learners, rows = curves["learner"].unique(), where(curves, quantity=MEASURED)
    control = rows["quantity"].map(MEASURED)
    rows = rows.assign(line=control.where(control != "", rows["learner"]))
    rows["x"] = rows["amount"].map({amount: x for x, amount in enumerate(names)})
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
    page.name_ticks(grid, [range(len(names))] * len(grid), [list(names.values())] * len(grid))
    page.describe(
        learners,
        *about,
        captions.means_are(rows),
        "Offline: the ceiling, untrained: the floor" * (len(looks) > len(learners)),
        readouts=set(rows["readout"]),
    )
    return page.fit(grid, (amount, "Accuracy on all tasks (%)"), height=1.6)
