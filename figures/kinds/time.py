"""Accuracy by layer as tasks are learned: when each layer forgets.

x: the number of tasks learned; y: accuracy on the tasks learned so far in %, from
measurements.csv, by a readout trained downstream of the layer; a panel for each
learner, a line for each layer, dark for the first by depth and lighter toward the last.

A falling line shows a layer that forgets, or that the tasks become harder to tell
apart. The dashed segments at the right show the same layers of the joint network,
after all tasks. Lines of deeper layers are thinner, so that none hides another.
"""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import captions, layout, lines
from figures.appearance import Appearance
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables, continual
from probe.tables.schemas import OFFLINE
from probe.tables.summary import pra_by_step, seed_means
from probe.tables.table_file import where

_LAYER = ["learner", "depth", "feature"]

QUESTION = "When did it happen?"
NEEDS = "a layer that was measured after two tasks or more"
TABLES = ("measurements",)

_DASHED: dict[str, Any] = {"lw": 1.4, "ls": (0, (2, 0.8))}


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per continual learner with a line per layer over 1 to T tasks learned.

    It shows the readout that was measured most often, `linear` if there are several.
    Bars are 95 % intervals over seeds; they are left out if there are many layers.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no layer besides the output was measured after two tasks or
        more.
    """
    readout = _readout(tables.measurements)
    if not readout:
        return None
    courses, offline = _courses(tables.measurements, readout)
    learners = courses["learner"].unique()
    names = zip(courses["depth"], courses["feature"], strict=True)
    looks = lines.layer_appearances(names)
    if max(len(looks), courses.groupby(_LAYER).size().max()) > lines.MOST_NAMED + 1:
        # Under their bars so many lines, or points, could not be told apart.
        courses = courses.assign(std=math.nan)
    is_crowded = len(learners) > MANY
    titles = [page.display_name(name) for name in learners]
    grid = page.panels(titles, most=4 if is_crowded else 3)
    for axes, learner in zip(grid, learners, strict=True):
        _plot_learner(axes, looks, where(courses, learner=learner), offline)
    ceiling = Line2D(
        [],
        [],
        color="0.3",
        label="Joint",
        **_DASHED,
    )
    note = f"{captions.over_seeds(courses)}, readout {readout}"
    page.layer_legend(grid, looks, note, *[ceiling] * (not offline.empty))
    page.describe(
        learners,
        "Accuracy on the tasks learned so far downstream of each layer, by their "
        "number",
        f"Readout: {readout}, trained downstream on all tasks at once; the output is "
        "as trained",
        captions.over_seeds(courses),
        "Dashed: accuracy on all test examples for the layers of a network trained on "
        "all tasks at once" * (not offline.empty),
        readouts=[readout],
    )
    axis_labels = ("Tasks learned so far", "Accuracy on these tasks (%)")
    return page.fit(grid, axis_labels, height=1.3 if is_crowded else 1.6)


def _courses(
    measurements: pd.DataFrame, readout: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return accuracies of layers on the tasks learned so far, and PRA of the offline network.

    Both are means over seeds, a row for each learner, layer and number of tasks learned.
    """
    rows = where(measurements, metric="accuracy", learner=continual(measurements))
    rows = rows[(rows["task_position"] <= rows["tasks_seen"]).fillna(False)]
    of_layers = where(rows, readout=readout)
    # The output has no readout: R stands for it, under the name and depth that PRA gives.
    outputs = where(measurements, metric="pra", readout="")[_LAYER].drop_duplicates()
    outputs = outputs[~outputs["feature"].isin(of_layers["feature"])]
    R = where(rows, feature="").drop(columns=["feature", "depth"])
    rows = pd.concat([of_layers, R.merge(outputs)])
    # A single point says nothing of time.
    rows = rows[rows.groupby(_LAYER)["tasks_seen"].transform("nunique") > 1]
    means = seed_means(rows, *_LAYER, "tasks_seen").sort_values(["depth", "tasks_seen"])
    drawn = pd.concat([where(means, learner=name) for name in continual(rows)])
    return drawn, where(pra_by_step(measurements, readout), learner=OFFLINE)


def _readout(measurements: pd.DataFrame) -> str:
    """Return the readout measured at the largest number of steps, "" if none was at two or more."""
    rows = where(measurements, metric="pra", learner=continual(measurements))
    rows = rows[(rows["readout"] != "") & (rows["tasks_seen"] > 0)]
    steps = rows.groupby("readout", sort=False)["tasks_seen"].nunique()
    readouts = list(steps.index[(steps == steps.max()) & (steps > 1)])
    return "linear" if "linear" in readouts else next(iter(readouts), "")


def _plot_learner(
    axes: Axes,
    looks: Mapping[int, Appearance],
    courses: pd.DataFrame,
    offline: pd.DataFrame,
) -> None:
    """Draw the layers of one learner, slightly shifted along x, and their ceilings."""
    last = courses["tasks_seen"].max()
    # The length along x of the ceilings' place: more tasks need more, to be seen.
    unit = max(1, last / 8)
    layers = dict(list(courses.groupby("depth")))
    drawn = lines.plot_dodged(axes, looks, layers, "tasks_seen", most=0.1)
    widths = lines.widths(len(drawn))
    for line, rows, width in zip(drawn, layers.values(), widths, strict=True):
        line.set_linewidth(width)
        ceiling = offline.merge(rows[["depth", "feature"]].drop_duplicates())
        # The last row is that after all tasks.
        for mean in ceiling["mean"][-1:]:
            x = [last + 0.3 * unit, last + 0.7 * unit]
            axes.plot(
                x,
                [100 * mean] * 2,
                color=line.get_color(),
                **_DASHED,
            )
    axes.set_xlim(1 - 0.4 * unit, last + 0.8 * unit)
    axes.set_xticks(layout.ticks(1, last))
