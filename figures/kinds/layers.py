"""Accuracy missing in each layer on each task, against joint training.

x: the task position in the executed order, and all tasks; y: the layer, from input to
output;
number: joint minus accuracy, in points (of 100), from layers.csv; a panel for each
learner and readout.

Read down a column to see in which layers a task is lost, and along a row to see which
tasks a layer has lost: the first ones if it forgets.
"""

from itertools import chain

from matplotlib.figure import Figure

from figures import captions, heatmaps
from figures.maps import LayerMap, missing_maps
from figures.page import Page
from figures.tables import StudyTables

READOUTS = ("retrain", "linear", "linear-task")
"""Readouts that have panels, in this order; the later ones only where they fit on the page."""

QUESTION = "What is missing in each layer?"
NEEDS = "a method and the accuracy missing in its layers"
TABLES = ("layers", "statements")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one map per continual learner and readout: L layers by T task positions (and all).

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no missing accuracy was measured.
    """
    maps_of: dict[str, list[LayerMap]] = {readout: [] for readout in READOUTS}
    for m in missing_maps(tables.layers, tables.statements):
        if m.readout in maps_of:
            maps_of[m.readout].append(m)
    # A block of maps for each readout that has some.
    blocks = list(filter(None, maps_of.values()))
    if not blocks:
        return None
    all_titled = []
    for block in blocks:
        suffix = f", {block[0].readout}" if len(blocks) > 1 else ""
        all_titled.append(
            [(page.display_name(m.learner) + suffix, m.view) for m in block]
        )
    titled = heatmaps.fitting_blocks(page, all_titled)
    grid = heatmaps.draw_maps(page, titled, "Missing (points)")
    # The maps that are seen: those that fit and, in a user's axes, only one of them.
    pairs = zip(grid, chain(*blocks), strict=False)
    drawn = [m for axes, m in pairs if page.axes in (None, axes)]
    readouts = list(dict.fromkeys(m.readout for m in drawn))
    # The rows of these maps, for the caption.
    keys = tables.layers.set_index(["learner", "readout"]).index
    rows = tables.layers[keys.isin({(m.learner, m.readout) for m in drawn})]
    page.describe(
        dict.fromkeys(m.learner for m in drawn),
        "Points of accuracy missing in each layer on each task: accuracy downstream "
        "of the same layer of a network trained on all tasks at once (joint) "
        "minus accuracy downstream of the layer of the network that learned them one "
        "after another",
        "Rows: layers from input to output; columns: tasks by position in the "
        "executed order, and all tasks",
        *heatmaps.MARKS,
        f"Trained downstream of the layer, on all tasks at once: the readout"
        f"{'s' * (len(readouts) > 1)} {captions.together(readouts)}",
        captions.mean_over(rows),
        readouts=readouts,
    )
    return heatmaps.fit_maps(page, grid, titled)
