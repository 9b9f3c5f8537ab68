"""Final accuracy against the number of stored samples.

x: samples stored, on a logarithmic scale; y: A_T in %, from metrics.csv; a line for each kind of
learner and sampling strategy with at least two budgets. After Chaudhry et al. 2018, figure
4: the gain of a learner from a larger memory.

A steep rise shows a learner that relies on its stored samples; a high value at 0 samples shows one
that prevents forgetting by other means.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TypeVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import captions, lines
from figures.appearance import Appearance, learner_appearances, strategy_appearances
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import records, where

UNITS = {"per_class": "per class", "total": "in total"}
"""Units of a budget, by its column in the table of learners."""

_Sweep = tuple[str, str]  # a kind of learner and the strategy that chooses its samples
_Result = TypeVar("_Result")

QUESTION = "What does a larger memory gain?"
NEEDS = "a kind of learner with two budgets"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw A_T against the number of stored samples (Chaudhry 2018, figure 4).

    There is one line for each kind of learner and sampling strategy. Budgets per class and in total
    are different numbers, so each has a panel. The x axis is logarithmic; a learner of the kind
    that stores nothing is drawn at 0, beside the axis's smallest number. Bars are one standard
    deviation over seeds either way.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no kind has two budgets.
    """
    T, accuracy = tables.after_last_task("average_accuracy")
    panels = sweeps(tables.learners, {k: accuracy.loc[[k]] for k in accuracy.index})
    if not panels:
        return None
    looks = _appearances(page, dict.fromkeys(sweep for panel in panels.values() for sweep in panel))
    single = len(panels) == 1
    grid = page.panels([UNITS[unit].capitalize() * (not single) for unit in panels], most=2)
    for axes, panel in zip(grid, panels.values(), strict=True):
        _plot_sweeps(page, axes, looks, panel)
    rows = pd.concat(
        row for panel in panels.values() for points in panel.values() for row in points.values()
    )
    page.legend(looks.values(), captions.over_seeds(rows))
    page.describe(
        dict.fromkeys(kind for kind, _ in looks),
        f"Average accuracy after {captions.counted(T, 'task')}, against the number of stored "
        f"samples",
        captions.points_are(rows),
        kinds=True,
    )
    x_label = " ".join(["Stored samples", *(UNITS[unit] for unit in panels if single)])
    y_label = captions.with_head(f"Average accuracy $A_{{{T}}}$ (%)", rows)
    return page.fit(grid, (x_label, y_label), height=2.0)


def sweeps(
    learners: pd.DataFrame, results: Mapping[str, _Result], empty: str = ""
) -> dict[str, dict[_Sweep, dict[int, _Result]]]:
    """Return the results by budget of each kind and strategy with two budgets, by unit of budgets.

    A learner of the kind that stores nothing is there as budget 0. Of learners with the same kind,
    strategy and budget the first counts.

    Args:
        learners: The table of learners.
        results: By learner.
        empty: The kind that is there as budget 0 where none of the kind itself stores nothing.
    """
    without_samples: dict[str, _Result] = {}
    # Three samples of each of ten classes are not thirty in all: classes come in over time.
    budgets = {unit: defaultdict[_Sweep, dict[int, _Result]](dict) for unit in UNITS}
    for row in records(where(learners, learner=results)):
        if row.per_class is None and row.total is None:
            without_samples.setdefault(row.kind, results[row.learner])
        for unit in UNITS:
            if (budget := getattr(row, unit)) is not None:
                budgets[unit][row.kind, row.sampling].setdefault(budget, results[row.learner])
    panels: dict[str, dict[_Sweep, dict[int, _Result]]] = {}
    for unit, points_of in budgets.items():
        for sweep, points in points_of.items():
            if len(points) > 1:
                kinds = [kind for kind in (sweep[0], empty) if kind in without_samples]
                zero = {0: without_samples[kinds[0]]} if kinds else {}
                panels.setdefault(unit, {})[sweep] = zero | dict(sorted(points.items()))
    return panels


def positions(budgets: Iterable[int]) -> dict[int, float]:
    """Return the position of each budget on the x axis: its log10; 0 the median step before all.

    >>> positions([0, 1, 10, 100])
    {0: -1.0, 1: 0.0, 10: 1.0, 100: 2.0}
    """
    x = {budget: math.log10(budget) if budget else -math.inf for budget in sorted(set(budgets))}
    if 0 in x:
        stored = [position for budget, position in x.items() if budget]
        # The median: one budget far from the others must not push 0 away.
        x[0] = stored[0] - median(after - before for before, after in pairwise(stored))
    return x


def budget_names(x: Mapping[int, float]) -> list[str]:
    """Return the budgets' names, "" for one that is too close to the last name before it.

    Args:
        x: Their positions, ascending.

    >>> budget_names({10: 0.0, 11: 0.01, 100: 1.0})
    ['10', '', '100']
    """
    room = 0.075 * (max(x.values()) - min(x.values()))
    names, last = [], -math.inf
    for budget, position in x.items():
        names.append(str(budget) if position - last >= room else "")
        # A budget without a name takes no room.
        last = position if names[-1] else last
    return names


def _plot_sweeps(
    page: Page,
    axes: Axes,
    looks: Mapping[_Sweep, Appearance],
    rows: Mapping[_Sweep, Mapping[int, pd.DataFrame]],
) -> None:
    """Draw a line for each sweep of one unit, over its budgets."""
    x = positions(budget for points in rows.values() for budget in points)
    # Lines dodge by a share of the smallest step, so that no point comes near the next budget.
    closest = min(after - before for before, after in pairwise(x.values()))
    for (sweep, points), offset in zip(rows.items(), lines.dodges(len(rows)), strict=True):
        at = [x[budget] + closest * offset for budget in points]
        # Two points tell no course.
        lines.plot_means(axes, looks[sweep], at, pd.concat(points.values()), joined=len(at) > 2)
    mark_budgets(page, axes, x)


def mark_budgets(page: Page, axes: Axes, x: Mapping[int, float]) -> None:
    """Label the budgets at their positions, with a break between 0 and the others.

    A logarithmic axis has no 0.

    Args:
        page: The page that is drawn on.
        axes: The axes of a panel.
        x: The position of each budget.
    """
    page.name_ticks([axes], [list(x.values())], [budget_names(x)])
    if 0 in x:
        middle, below = (x[0] + sorted(x.values())[1]) / 2, axes.get_xaxis_transform()
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.2}
        axes.text(middle, 0, "//", transform=below, ha="center", va="center", bbox=ground)


def _appearances(page: Page, sweeps: Iterable[_Sweep]) -> dict[_Sweep, Appearance]:
    """Return one for each kind and strategy: that of the kind if it has a single strategy.

    Else the legend names both the kind and the strategy.
    """
    kinds = [kind for kind, _ in sweeps]
    names = {s: s[0] if kinds.count(s[0]) == 1 else ", ".join(s) for s in sweeps}
    looks, of_kinds = learner_appearances(names.values()), page.appearances(kinds)
    appearances = {}
    for (kind, sampling), name in names.items():
        # A spare appearance has the key as its name in print: it is put in words.
        strategy = strategy_appearances([sampling])[sampling].label.lower()
        label = of_kinds[kind].label + f", {strategy}" * (name != kind)
        appearances[kind, sampling] = replace(looks[name], label=label)
    return appearances
