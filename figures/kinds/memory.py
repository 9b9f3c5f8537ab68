"""Final accuracy against the number of stored samples.

x: samples stored, on a logarithmic scale; y: A_T in %, from metrics.csv; a line for each kind of
learner and sampling strategy with at least two budgets. After Chaudhry et al. 2018, figure
4: the gain of a learner from a larger memory.

A steep rise shows a learner that relies on its stored samples; a high value at 0 samples shows one
that prevents forgetting by other means.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import labels, lines
from figures.appearance import Appearance, learner_appearances, strategy_appearances
from figures.pages.page import Page
from figures.tables import Tables
from probe.tables.rows import LearnerRow, MetricRow

UNITS = {"per_class": "per class", "total": "in total"}
"""Units of a budget, by its column in the table of learners."""


_Sweep = tuple[str, str]  # a kind of learner and the strategy that chooses its samples
_Found = TypeVar("_Found")
_Swept = dict[str, dict[_Sweep, dict[int, _Found]]]  # sweeps by the unit of budgets

QUESTION = "What does a larger memory gain?"
NEEDS = "a kind of learner with two budgets"
TABLES = ("metrics", "learners")


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw A_T against the number of stored samples (Chaudhry 2018, figure 4).

    One line for each kind of learner and sampling strategy; budgets per class and in total have a
    panel each, as they are different numbers. The x axis is logarithmic; a learner of the kind that
    stores nothing stands at 0, beside the axis's smallest number. Bars are one standard deviation
    over seeds either way. Returns None if no kind has two budgets.
    """
    T, accuracy = tables.after_last_task("average_accuracy")
    drawn = swept(tables.learners, accuracy)
    if not drawn:
        return None
    appearances = _appearances(page, drawn)
    titles = [UNITS[unit].capitalize() if len(drawn) > 1 else "" for unit in drawn]
    grid = page.panels(titles, most=2)
    for axes, each in zip(grid, drawn.values(), strict=True):
        _plot_sweeps(page, axes, appearances, each)
    rows = [row for own in drawn.values() for points in own.values() for row in points.values()]
    page.legend(appearances.values(), labels.over_seeds(rows))
    x_label = " ".join(["Stored samples", *(UNITS[unit] for unit in drawn if len(drawn) == 1)])
    sides = (x_label, labels.with_head(f"Average accuracy $A_{{{T}}}$ (%)", rows))
    page.describe(
        dict.fromkeys(kind for kind, _ in appearances),
        f"Average accuracy after {labels.counted(T, 'task')}, against the number of stored samples",
        labels.points_are(rows),
        kinds=True,
    )
    return page.fit(grid, sides, height=2.0)


def swept(
    learners: Iterable[LearnerRow], found: Mapping[str, _Found], empty: str = ""
) -> _Swept[_Found]:
    """Return by unit the kinds and strategies with two budgets or more: what was found by budget.

    found: by learner. A learner of the kind that stores nothing is there as budget 0, where there
    is none that of the kind `empty`. Of learners alike in kind, strategy and budget the first
    counts.
    """
    plain: dict[str, _Found] = {}
    # Three samples of each of ten classes are not thirty in all: classes come in over time.
    budgets = {unit: defaultdict[_Sweep, dict[int, _Found]](dict) for unit in UNITS}
    for row in (row for row in learners if row.learner in found):
        own = {unit: budget for unit in UNITS if (budget := getattr(row, unit)) is not None}
        for unit, budget in own.items():
            budgets[unit][row.kind, row.sampling].setdefault(budget, found[row.learner])
        if not own:
            plain.setdefault(row.kind, found[row.learner])
    whole: _Swept[_Found] = {}
    for unit, each in budgets.items():
        for sweep, points in each.items():
            if len(points) > 1:
                none = [plain[kind] for kind in (sweep[0], empty) if kind in plain]
                zero = {0: none[0]} if none else {}
                whole.setdefault(unit, {})[sweep] = zero | dict(sorted(points.items()))
    return whole


def positions(budgets: Sequence[int]) -> dict[int, float]:
    """Return the position of each budget on the x axis: its log10; 0 the median step before all.

    >>> positions([0, 1, 10, 100])
    {0: -1.0, 1: 0.0, 10: 1.0, 100: 2.0}
    """
    stored = {budget: math.log10(budget) for budget in sorted(set(budgets)) if budget}
    if 0 not in budgets:
        return stored
    # The median: one budget far from the others must not push 0 away.
    tasks_seen = median(after - before for before, after in pairwise(stored.values()))
    return {0: min(stored.values()) - tasks_seen, **stored}


def named(x: Mapping[int, float]) -> list[str]:
    """Return the budgets' names, "" for one that is too close to the last named before it.

    x: their positions, in ascending order.

    >>> named({10: 0.0, 11: 0.01, 100: 1.0})
    ['10', '', '100']
    """
    room = 0.075 * (max(x.values()) - min(x.values()))
    names, last = [], -math.inf
    for budget, at in x.items():
        names.append(str(budget) if at - last >= room else "")
        # A budget without a name takes no room.
        last = at if names[-1] else last
    return names


def _plot_sweeps(
    page: Page,
    axes: Axes,
    appearances: Mapping[_Sweep, Appearance],
    drawn: Mapping[_Sweep, Mapping[int, MetricRow]],
) -> None:
    """Draw a line for each sweep of one unit. drawn: rows by budget."""
    at = positions([budget for points in drawn.values() for budget in points])
    # Lines dodge by a share of the smallest step, so that no point comes near the next budget.
    closest = min(after - before for before, after in pairwise(at.values()))
    for (sweep, points), offset in zip(drawn.items(), lines.dodges(len(drawn)), strict=True):
        x = [at[budget] + closest * offset for budget in points]
        # Two points tell no course.
        rows, joined = list(points.values()), len(points) > 2
        lines.plot_means(axes, appearances[sweep], x, rows, joined=joined)
    mark_budgets(page, axes, at)


def mark_budgets(page: Page, axes: Axes, at: Mapping[int, float]) -> None:
    """Name budgets at their positions, with a break between 0 and the others.

    Where an axis is logarithmic there is no 0.
    """
    page.name_ticks([axes], [list(at.values())], [named(at)])
    if 0 in at:
        middle, below = (at[0] + sorted(at.values())[1]) / 2, axes.get_xaxis_transform()
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.2}
        axes.text(middle, 0, "//", transform=below, ha="center", va="center", bbox=ground)


def _appearances(page: Page, drawn: _Swept[MetricRow]) -> dict[_Sweep, Appearance]:
    """Return one for each kind and strategy: that of the kind if it has a single strategy.

    Else the legend names both the kind and the strategy.
    """
    sweeps = list(dict.fromkeys(sweep for each in drawn.values() for sweep in each))
    kinds = [kind for kind, _ in sweeps]
    named = {each: each[0] if kinds.count(each[0]) == 1 else ", ".join(each) for each in sweeps}
    looks, of_kinds = learner_appearances(named.values()), page.looks(kind for kind, _ in named)
    found = {}
    for (kind, sampling), name in named.items():
        # A spare appearance has the key as its name in print: it is put in words.
        strategy = strategy_appearances([sampling])[sampling].label.lower()
        label = of_kinds[kind].label if name == kind else f"{of_kinds[kind].label}, {strategy}"
        found[kind, sampling] = replace(looks[name], label=label)
    return found
