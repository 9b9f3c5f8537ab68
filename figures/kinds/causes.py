"""Causes of forgetting: what the change of each layer accounts for, stacked by learner.

x: points of accuracy (of 100) forgotten of the earlier tasks, from causes.csv; y: the
learner. A bar has a piece for each layer, from input to output, and one for classes
that have come since; pieces below 0 gave back, and stand left of 0. The pieces of a bar
add up to the number at its end.

Compare bars to see whose forgetting lies in other layers; the intervals and verdicts of
single layers are in the figure `answer`.
"""

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from figures import captions, style
from figures.lines import layer_appearances, name_rows
from figures.page import Page
from figures.tables import StudyTables
from probe.answers.study import COMPETITION, widest_scope
from probe.tables.layer_text import points
from probe.tables.table_file import where

QUESTION = "Which layer's change caused it?"
NEEDS = "a method whose networks after each task were put back layer by layer"
TABLES = ("causes",)

_GRAY = "0.75"  # of classes that have come since
_ROW = 0.3  # inches: height of a bar


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a stacked bar for each continual learner, with a piece for each of L layers.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no causes were measured.
    """
    pieces = _pieces(tables.causes)
    learners = list(page.appearances(pieces["learner"].unique()))
    if not learners:
        return None
    colors = _colors(pieces["feature"].unique())
    (axes,) = page.panels([""])
    for y, learner in enumerate(learners):
        _draw_bar(axes, y, where(pieces, learner=learner), colors)
    axes.axvline(0, color="0.3", linewidth=0.8)
    name_rows(axes, [page.display_name(name) for name in learners])
    axes.margins(x=0.12)
    labels = captions.shortened([*colors])
    pairs = zip(colors.values(), labels, strict=True)
    page.legend(Patch(color=color, label=label) for color, label in pairs)
    page.describe(
        learners,
        "Points of accuracy forgotten of the tasks before the last: the share that the "
        "change of each layer accounts for, the Shapley value of putting it back as it "
        "was after the task; shares, with more classes that compete, add up to the "
        "number at the end of the bar",
        captions.mean_over(pieces),
    )
    height = page.scale * _ROW * len(learners)
    return page.fit([axes], ("Points of accuracy forgotten", ""), height=height)


def _pieces(causes: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of layers, by depth, and of classes that have come since.

    A learner has none if those of its layers are withheld.
    """
    rows = where(
        widest_scope(causes),
        score="accuracy",
        task_position=None,
        quantity=["attributed", "competition"],
    ).sort_values("depth", kind="stable")
    is_layer = rows["quantity"] == "attributed"
    rows["feature"] = rows["feature"].where(is_layer, COMPETITION)
    pieces = rows[is_layer | (rows["value"] != 0)].dropna(subset="value")
    of_layers = pieces[pieces["feature"] != COMPETITION]
    return where(pieces, learner=of_layers["learner"].unique())


def _colors(names: Iterable[str]) -> dict[str, str]:
    """Return the color of each piece: a layer's, or gray."""
    numbered = list(enumerate(names, 1))
    looks = layer_appearances(pair for pair in numbered if pair[1] != COMPETITION)
    return {name: looks[k].color if k in looks else _GRAY for k, name in numbered}


def _draw_bar(axes: Axes, y: int, pieces: pd.DataFrame, colors: dict[str, str]) -> None:
    """Draw the pieces of a learner, those below 0 to the left, and their sum at the end."""
    above = 0.0
    below = 0.0
    for row in pieces.itertuples():
        value = 100 * row.value
        start = above if value > 0 else below
        axes.barh(
            y,
            value,
            left=start,
            height=0.7,
            color=colors[row.feature],
            edgecolor="white",
            linewidth=0.4,
        )
        if value > 0:
            above += value
        else:
            below += value
    total = points(pieces["value"].sum())
    axes.annotate(
        total,
        (above, y),
        xytext=(3, 0),
        textcoords="offset points",
        va="center_baseline",
        size=style.digits_size(),
    )
