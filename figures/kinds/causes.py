"""Causes of forgetting: what the change of each layer cost, beside what its readout forgot.

x: the task position in the executed order, and all tasks; y: the layer, from input to output;
number: points of accuracy (of 100), from causes.csv and layers.csv; two panels for each learner.

Left, a column adds up to what was forgotten of the task, in its last row. A layer may have cost
much, and its readout forgotten little: readouts learn their way around a changed layer.
"""

from matplotlib.figure import Figure

from figures import captions, heatmaps
from figures.maps import cause_maps
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.statement_text import points
from probe.tables.table_file import where

QUESTION = "Which layer's change caused it?"
NEEDS = "a learner whose networks after each task were put back layer by layer"
TABLES = ("causes", "layers", "statements", "measurements")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw two maps per continual learner: L layers by T - 1 task positions (and all).

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no causes were measured.
    """
    maps = list(cause_maps(tables.causes, tables.layers, tables.statements))
    if not maps:
        return None
    titled = [[(f"{page.display_name(m.learner)}:\n{m.title}", m.view) for m in maps]]
    grid = heatmaps.draw_maps(page, titled, "Lost (points)")
    # In a user's axes there is one of them.
    maps = [m for axes, m in zip(grid, maps, strict=True) if page.axes in (None, axes)]
    rows = where(tables.causes, score="accuracy", learner=[m.learner for m in maps])
    readouts = dict.fromkeys(m.readout for m in maps if m.readout)
    error = max(rows["sampling_error"].dropna(), default=0)
    page.describe(
        dict.fromkeys(m.learner for m in maps),
        "Points of accuracy forgotten of each task but the last since it was learned, in pieces: "
        "what the change of each layer cost, by Shapley values of networks with earlier layers put "
        "back, alone and together; the last row is their sum",
        f"Beside it, what a readout of the layer forgot: {', '.join(readouts)}" * bool(readouts),
        "Rows: layers from input to output; columns: tasks by position in the executed order, and "
        "all but the last",
        *heatmaps.MARKS,
        captions.means_are(rows, "Numbers"),
        f"Drawing orders of layers adds a standard error of up to {points(error)} points"
        * (error >= 0.0005),
    )
    return heatmaps.fit_maps(page, grid, titled)
