"""Per-task F1 by task position: the bias of each feature toward tasks learned early or late.

x: task position in the executed order, from 1, or for a single order the tasks by name;
y: F1 of the task in %, from summary.csv; a panel for each feature, a line for each
learner (Murata et al. 2020, figures 2 and 3).

A learner that forgets is good at the tasks learned last: its line rises. If it still
rises where only the first layers were held fixed and the rest was retrained, these
layers favor the last tasks, too. With a single order, a line may also rise because the
last tasks are easier.
"""

import math
from collections.abc import Sequence
from itertools import chain

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.style import MANY
from figures.tables import FeatureByDepth, StudyTables, architectures, continual
from probe.metrics.murata import RETRAIN
from probe.tables.table_file import where

QUESTION = "Which tasks does each layer favor?"
NEEDS = "a method and the F1 of its tasks"
TABLES = ("summary", "learners", "measurements")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per feature with a line per continual learner over T task positions.

    The last panel is the deepest feature: the trained model, unchanged. In the other
    panels everything downstream of the feature was retrained. Bars are 95 % intervals
    over seeds. A rising line is a bias toward the tasks learned last (Murata 2020,
    figures 2 and 3). Each architecture has its own rows of panels. Joint training and
    the untrained network have no order, and therefore no line.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if there is no continual learner.
    """
    f1 = where(tables.summary, metric="f1", learner=continual(tables.summary))
    if tables.crowded or f1.empty:
        return None
    # Bars of so many points could not be told apart.
    if max(f1["task_position"]) > lines.MOST_BARRED:
        f1 = f1.assign(std=math.nan)
    learners = continual(f1)
    grid = _plot_architectures(page, learners, f1)
    # One legend for all: a learner looks the same in each panel.
    looks = page.appearances(learners)
    page.legend([looks[name] for name in learners], captions.over_seeds(f1))
    if task_names := tables.task_names:
        # All panels have the same ticks.
        names_at = {x: task_names[int(x)] for x in grid[0].get_xticks()}
        page.name_ticks(grid, [names_at] * len(grid))
    page.describe(
        learners,
        f"F1 of each task by its {'name' if task_names else 'position in the order'}, "
        "for each feature",
        "F1 also counts false positives, examples of other tasks taken for this one "
        "(none if the task is told): a network that always predicts the last task has "
        "a low F1 even there",
        "The network that has learned all tasks is held fixed up to the feature, and "
        "everything downstream is retrained on all tasks at once; the last panel is "
        "the network as trained",
        captions.over_seeds(f1),
        readouts=[RETRAIN],
    )
    return page.fit(grid, (tables.position_label, "F1 of the task (%)"), height=1.3)


def _plot_architectures(
    page: Page, learners: Sequence[str], f1: pd.DataFrame
) -> list[Axes]:
    """Draw a block of panels for each architecture, one for each feature; return all panels."""
    looks = page.appearances(learners)
    trained = architectures(f1)
    titles = [_titles(features) for features, _ in trained]
    columns = _columns(titles, page.across(4 if len(learners) <= MANY else 2))
    blocks = page.blocks(titles, columns, wide=columns > 1)
    f1 = f1.sort_values("task_position", kind="stable")
    for (features, names), block in zip(trained, blocks, strict=True):
        for axes, depth in zip(block, features, strict=True):
            # At this depth, other architectures have features of other names.
            rows = where(f1, depth=depth)
            rows_of = {name: where(rows, learner=name) for name in names}
            lines.plot_dodged(axes, looks, rows_of, "task_position")
            lines.mark_steps(axes, max(rows["task_position"]))
        if len(trained) > 1:
            block[0].set_ylabel(captions.folded(page.listed(names), width=16))
    return list(chain(*blocks))


def _titles(features: FeatureByDepth) -> list[str]:
    """Return the titles of an architecture's panels; the last one is the model as trained."""
    *names, last = features.values()
    return [*names, f"{last} (as\N{NO-BREAK SPACE}trained)"]


def _columns(blocks: Sequence[Sequence[object]], most: int) -> int:
    """Return the fewest columns, at most `most`, with which all panels take the fewest rows.

    >>> _columns(["12345"], most=4), _columns(["123456", "1234", "12"], most=4)
    (3, 4)
    """

    def rows(columns: int) -> int:
        return sum(math.ceil(len(block) / columns) for block in blocks)

    return min(range(1, most + 1), key=rows)
