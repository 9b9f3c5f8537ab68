"""Causes of forgetting: what the change of each layer cost, by task and on average.

x: task position in the executed order, from 1, or for a single order the tasks by name, and the
mean; y: points of accuracy forgotten, from causes.csv; a panel for each learner, a color for each
layer, dark for the first by depth and light for the last.

A bar is what was forgotten of a task, in pieces by layer that add up to the diamond: the change of
a layer with a large piece cost much, that of a layer below 0 helped. A layer whose readout forgot
little may have cost much: readouts learn their way around a changed layer.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from figures import captions, layout, lines
from figures.appearance import Appearance
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables
from probe.tables.statement_text import points
from probe.tables.table_file import where

QUESTION = "Whose change cost what was forgotten?"
NEEDS = "a learner whose networks after each task were put back layer by layer"
TABLES = ("causes", "measurements")

_COMPETITION, _MEAN = 0, 0  # in place of a depth, and of a task position
_COMPETING = Appearance("More classes compete", "0.4", "s", "none", filled=False)
_HATCHED: dict[str, Any] = {"facecolor": "white", "edgecolor": "0.4", "hatch": "//////"}
_TOTAL: dict[str, Any] = {"ls": "none", "marker": "D", "color": "black", "markeredgecolor": "white"}


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per learner: a stacked bar per task j < T and for the mean, and its pieces.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no causes were measured.
    """
    rows = where(tables.causes, score="accuracy")
    if rows.empty:
        return None
    pieces = _pieces(rows)
    learners, of_layers = rows["learner"].unique(), rows.dropna(subset="depth")
    layers = lines.layer_appearances(zip(of_layers["depth"], of_layers["feature"], strict=True))
    layers = {depth: replace(look, marker="s", line="none") for depth, look in layers.items()}
    competes = _COMPETITION in set(pieces["depth"])
    looks = layers | {_COMPETITION: _COMPETING} if competes else layers
    many, wide = len(learners) > MANY, len(looks) + pieces["position"].nunique() > 20
    titles = [page.display_name(name) for name in learners]
    grid = page.panels(titles, most=4 if many else 2 if wide else 3)
    ticks = []
    for axes, learner in zip(grid, learners, strict=True):
        total = where(rows, learner=learner, quantity="forgotten")
        ticks.append(_plot_learner(axes, looks, where(pieces, learner=learner), total))
    mean = where(pieces, position=_MEAN)
    more = [Patch(**_HATCHED, label=_COMPETING.label)] * competes
    total_key = Line2D([], [], ms=5, **_TOTAL, label="Forgotten, in all")
    page.layer_legend(grid, layers, captions.over_seeds(mean), *more, total_key)
    names = [
        {x: tables.task_names.get(int(x), f"{x:g}") for x in of_tasks}
        | {at_mean: "mean", middle: "pieces"}
        for *of_tasks, at_mean, middle in ticks
    ]
    page.name_ticks(grid, names)
    error = max(mean["sampling_error"].dropna(), default=0)
    page.describe(
        learners,
        "Points of accuracy forgotten of each task but the last since it was learned, in pieces: "
        "what the change of each layer cost, by Shapley values of networks with earlier layers put "
        "back, alone and together",
        "Pieces below 0: changes that helped; diamonds: the sum of the pieces",
        "Hatched: what is lost at unchanged weights, as more classes compete" * competes,
        captions.means_are(mean, "The pieces of the mean over tasks, at the right,"),
        f"Drawing orders of layers adds a standard error of up to {points(error)} points"
        * (error >= 0.0005),
    )
    return page.fit(grid, (tables.position_label, "Forgotten (points)"), height=1.7)


def _pieces(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the pieces of what was forgotten; competition only where there is any."""
    layers, competition = (where(rows, quantity=q) for q in ("attributed", "competition"))
    pieces = pd.concat([layers, competition] if competition["value"].any() else [layers])
    return pieces.assign(
        depth=pieces["depth"].fillna(_COMPETITION).astype(int),
        position=pieces["task_position"].fillna(_MEAN).astype(int),
    )


def _plot_learner(
    axes: Axes, looks: Mapping[int, Appearance], pieces: pd.DataFrame, total: pd.DataFrame
) -> list[float]:
    """Draw the bars of the tasks and of the mean, then the mean's pieces; return their ticks."""
    tasks = sorted(set(pieces["position"]) - {_MEAN})
    # Of many tasks each is narrow, but the mean and its pieces stay legible.
    last, width = tasks[-1], max(0.8, tasks[-1] / 15)
    at_mean = last + 0.6 + max(width, 0.12 * (last + width * len(looks)))
    x_of = {_MEAN: at_mean} | {task: float(task) for task in tasks}
    _stack(axes, looks, pieces, x_of, {_MEAN: width})
    at_total = [x_of[position] for position in total["task_position"].fillna(_MEAN)]
    size = 3.6 if last <= lines.MOST_BARRED else 1.8
    axes.plot(at_total, 100 * total["value"], ms=size, markeredgewidth=0.5, **_TOTAL)
    of_mean = dict(list(where(pieces, position=_MEAN).groupby("depth")))
    at_pieces = [at_mean + width * (1.2 + k) for k in range(len(of_mean))]
    for depth, x in zip(filter(of_mean.__contains__, looks), at_pieces, strict=True):
        lines.plot_means(axes, looks[depth], [x], of_mean[depth], joined=False)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.axvline(last + 0.55, color="0.8", linewidth=0.6, zorder=0)
    axes.set_xlim(0.4, at_pieces[-1] + width)
    marked = layout.ticks(tasks[0], last)
    middle = (at_pieces[0] + at_pieces[-1]) / 2
    return [*map(float, marked[:: 1 + len(marked) // 8]), at_mean, middle]


def _stack(
    axes: Axes,
    looks: Mapping[int, Appearance],
    pieces: pd.DataFrame,
    x_of: Mapping[int, float],
    widths: Mapping[int, float],
) -> None:
    """Draw the pieces at each position: those above 0 upwards from it, the others downwards."""
    heights = 100 * pieces.pivot(index="depth", columns="position", values="value").fillna(0)
    heights = heights.reindex([depth for depth in looks if depth in heights.index])
    tops = heights.clip(lower=0).cumsum().where(heights > 0, heights.clip(upper=0).cumsum())
    x = [x_of[position] for position in heights]
    wide = [widths.get(position, 0.8) for position in heights]
    for depth, height in heights.iterrows():
        color = _HATCHED if depth == _COMPETITION else {"facecolor": looks[depth].color}
        axes.bar(x, height, wide, tops.loc[depth] - height, linewidth=0, **color)
