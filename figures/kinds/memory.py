"""Final accuracy against the number of stored samples.

x: samples stored, on a logarithmic scale; y: A_T in %, from metrics.csv; a line for
each kind of learner and sampling strategy with at least two budgets. After Chaudhry et
al. 2018, figure 4: what a learner gains from a larger memory.

A steep rise shows that a learner relies on its stored samples; a high value at 0
samples shows that it prevents forgetting by other means.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import median

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import captions, lines
from figures.appearance import Appearance, learner_appearances, strategy_appearances
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

UNITS = {"per_class": "per class", "total": "in total"}
"""Units of a budget, by its column in the table of learners."""

_Sweep = tuple[str, str]  # a kind of learner and the strategy that chooses its samples
_SWEEP = ["kind", "sampling", "unit"]

QUESTION = "What does a larger memory gain?"
NEEDS = "a kind of learner with two budgets"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw A_T against the number of stored samples (Chaudhry 2018, figure 4).

    There is one line for each kind of learner and sampling strategy. Budgets per class
    and in total are different numbers, so each has a panel. The x axis is logarithmic;
    a learner of the kind that stores nothing is drawn at 0, to the left of the smallest
    budget. Bars are 95 % intervals over seeds.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no kind has two budgets.
    """
    T, accuracy = tables.after_last_task("average_accuracy")
    rows = _sweeps(tables.learners, accuracy.reset_index(drop=True))
    if rows.empty:
        return None
    units = [unit for unit in UNITS.values() if unit in set(rows["unit"])]
    looks = _appearances(
        page, dict.fromkeys(zip(rows["kind"], rows["sampling"], strict=True))
    )
    single = len(units) == 1
    grid = page.panels([unit.capitalize() * (not single) for unit in units], most=2)
    for axes, unit in zip(grid, units, strict=True):
        of_unit = where(rows, unit=unit)
        x = _positions(of_unit["budget"])
        # Lines dodge by a share of the smallest step, so that no point comes near the
        # next budget.
        closest = min(after - before for before, after in pairwise(x.values()))
        groups = list(of_unit.groupby(["kind", "sampling"], sort=False))
        for (sweep, points), offset in zip(
            groups, lines.dodges(len(groups)), strict=True
        ):
            at = points["budget"].map(x) + closest * offset
            # Two points tell no course.
            lines.plot_means(axes, looks[sweep], at, points, joined=len(points) > 2)
        _mark_budgets(page, axes, x)
    page.legend(looks.values(), captions.over_seeds(rows))
    page.describe(
        dict.fromkeys(kind for kind, _ in looks),
        f"Average accuracy after {captions.counted(T, 'task')}, against the number of "
        "stored samples",
        captions.points_are(rows),
        kinds=True,
    )
    x_label = " ".join(["Stored samples", *(units if single else ())])
    y_label = captions.with_head(f"Average accuracy $A_{{{T}}}$ (%)", rows)
    return page.fit(grid, (x_label, y_label), height=2.0)


def stored(learners: pd.DataFrame) -> pd.DataFrame:
    """Return the budgets of learners, in the columns learner, kind, sampling, unit and budget."""
    columns = ["learner", "kind", "sampling"]
    # Three samples of each of ten classes are not thirty in all: classes come in over
    # time.
    rows = learners.melt(columns, [*UNITS], "unit", "budget", ignore_index=False)
    rows = rows.dropna(subset="budget").sort_index(kind="stable")
    return rows.assign(unit=rows["unit"].map(UNITS), budget=rows["budget"].astype(int))


def _sweeps(learners: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Return the results of each kind and strategy with two budgets, by budget.

    A learner of the kind that stores nothing has the budget 0. Among learners with the
    same kind, strategy and budget, the first counts.

    Args:
        learners: The table of learners.
        results: The rows of results by learner.

    Returns:
        The rows, with the columns kind, sampling, unit and budget.
    """
    learners = where(learners, learner=results["learner"])
    rows = stored(learners).drop_duplicates([*_SWEEP, "budget"])
    rows = rows[rows.groupby(_SWEEP)["budget"].transform("size") > 1]
    nothing = where(learners, per_class=None, total=None).drop_duplicates("kind")
    learner_of = dict(zip(nothing["kind"], nothing["learner"], strict=True))
    zero = rows.drop_duplicates(_SWEEP).assign(budget=0)
    zero["learner"] = zero["kind"].map(learner_of)
    rows = pd.concat([zero.dropna(subset="learner"), rows])
    order = rows.groupby(_SWEEP, sort=False).ngroup()
    rows = (
        rows.assign(order=order).sort_values(["order", "budget"]).drop(columns="order")
    )
    return rows.merge(results, on="learner")


def _positions(budgets: Iterable[int]) -> dict[int, float]:
    """Return the x position of each budget: its log10, and for 0 one median step to the left.

    >>> _positions([0, 1, 10, 100])
    {0: -1.0, 1: 0.0, 10: 1.0, 100: 2.0}
    """
    x = {
        budget: math.log10(budget) if budget else -math.inf
        for budget in sorted(set(budgets))
    }
    if 0 in x:
        stored = [position for budget, position in x.items() if budget]
        # The median: one budget far from the others must not push 0 away.
        x[0] = stored[0] - median(after - before for before, after in pairwise(stored))
    return x


def _budget_names(x: Mapping[int, float]) -> list[str]:
    """Return the names of the budgets, "" for one too close to the last name before it.

    Args:
        x: The positions of the budgets, ascending.

    >>> _budget_names({10: 0.0, 11: 0.01, 100: 1.0})
    ['10', '', '100']
    """
    room = 0.075 * (max(x.values()) - min(x.values()))
    names = []
    last = -math.inf
    for budget, position in x.items():
        names.append(str(budget) if position - last >= room else "")
        # A budget without a name takes no room.
        last = position if names[-1] else last
    return names


def _mark_budgets(page: Page, axes: Axes, x: Mapping[int, float]) -> None:
    """Label the budgets at their positions, with a break between 0 and the others.

    A logarithmic axis has no 0.

    Args:
        page: The page to draw on.
        axes: The axes of a panel.
        x: The position of each budget.
    """
    page.name_ticks([axes], [dict(zip(x.values(), _budget_names(x), strict=True))])
    if 0 in x:
        middle = (x[0] + sorted(x.values())[1]) / 2
        axes.text(
            middle,
            0,
            "//",
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2},
        )


def _appearances(page: Page, sweeps: Iterable[_Sweep]) -> dict[_Sweep, Appearance]:
    """Return an appearance for each kind and strategy: the kind's, if it has a single strategy.

    Otherwise the legend names both the kind and the strategy.
    """
    kinds = [kind for kind, _ in sweeps]
    names = {s: s[0] if kinds.count(s[0]) == 1 else ", ".join(s) for s in sweeps}
    looks = learner_appearances(names.values())
    of_kinds = page.appearances(kinds)
    appearances = {}
    for (kind, sampling), name in names.items():
        # A spare appearance has the key as its name in print: it is put in words.
        strategy = strategy_appearances([sampling])[sampling].label.lower()
        label = of_kinds[kind].label + f", {strategy}" * (name != kind)
        appearances[kind, sampling] = replace(looks[name], label=label)
    return appearances
