"""Final accuracy by the number of stored samples (`memory`), and by their choice (`sampling`).

y: A_T in %, from metrics.csv.

`memory`: x: samples stored, on a logarithmic scale; a line for each kind of learner and
sampling strategy with at least two budgets, after Chaudhry et al. 2018, figure 4: what
a learner gains from a larger memory. A steep rise shows that a learner relies on its
stored samples; a high value at 0 samples shows that it prevents forgetting by other
means.

`sampling`: x: kinds of learners, each at one budget; a mark for each strategy (Chaudhry
et al. 2018, figure 5). Within a group only the strategy differs: kind of learner and
number of samples are the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import captions, lines
from figures.appearance import Appearance, learner_appearances, strategy_appearances
from figures.kinds import Kind
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

UNITS = {"per_class": "per class", "total": "in total"}
"""Units of a budget, by its column in the table of learners."""

_Sweep = tuple[str, str]  # a kind of learner and the strategy that chooses its samples
_SWEEP = ["kind", "sampling", "unit"]  # the columns that all points of a line share
_GROUP = ["kind", "budget", "unit"]  # and those that all strategies of a group share
_TABLES = ("metrics", "learners")


def draw_memory(tables: StudyTables, page: Page) -> Figure | None:
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
    rows = _sweeps(tables.learners, accuracy)
    if rows.empty:
        return None
    units = [unit for unit in UNITS.values() if unit in set(rows["unit"])]
    pairs = zip(rows["kind"], rows["sampling"], strict=True)
    looks = _appearances(page, dict.fromkeys(pairs))
    titles = [unit.capitalize() for unit in units]
    x_label = "Stored samples"
    if len(units) == 1:
        titles = [""]
        x_label += f" {units[0]}"
    grid = page.panels(titles, most=2)
    for axes, unit in zip(grid, units, strict=True):
        _plot_sweeps(axes, looks, where(rows, unit=unit), page)
    page.legend(looks.values(), captions.over_seeds(rows))
    page.describe(
        dict.fromkeys(kind for kind, _ in looks),
        f"Average accuracy after {captions.counted(T, 'task')}, against the number of "
        "stored samples",
        captions.over_seeds(rows),
        kinds=True,
    )
    return page.fit(grid, (x_label, _accuracy(T, rows)), height=2.0)


def draw_sampling(tables: StudyTables, page: Page) -> Figure | None:
    """Draw A_T of every strategy, grouped by kind of learner and budget (Chaudhry 2018, figure 5).

    Bars are 95 % intervals over seeds. If all groups share a budget, the x axis names
    it; otherwise each group's name does. Among learners with the same kind, strategy
    and budget, the first counts.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no kind has two strategies at the same budget.
    """
    T, accuracy = tables.after_last_task("average_accuracy")
    rows = _comparable_results(tables.learners, accuracy)
    if rows.empty:
        return None
    groups = list(rows[_GROUP].drop_duplicates().itertuples(index=False, name=None))
    looks = strategy_appearances(rows["sampling"])
    # More marks than this would touch in a column of a page.
    (axes,) = page.panels([""], wide=len(groups) * len(looks) > 16)
    rows_of = {strategy: where(rows, sampling=strategy) for strategy in looks}
    lines.plot_dodged(
        axes,
        looks,
        rows_of,
        "group",
        most=0.2,
        span=0.6,
        joined=False,
    )
    axes.set_xlim(-0.5, len(groups) - 0.5)
    # Lines between the groups.
    for group in range(1, len(groups)):
        axes.axvline(group - 0.5, color="0.8", linewidth=0.6, zorder=0)
    page.legend(looks.values(), captions.over_seeds(rows), joined=False)
    x_label, names = _group_names(groups, page)
    page.name_ticks([axes], [dict(enumerate(names))])
    page.describe(
        rows["kind"].unique(),
        f"Average accuracy after {captions.counted(T, 'task')} by the strategy that "
        "selects the stored samples",
        "Within a group the kind of method and the number of samples are the same",
        captions.over_seeds(rows),
        kinds=True,
    )
    return page.fit([axes], (x_label, _accuracy(T, rows)), height=2.0)


memory = Kind(
    draw_memory,
    "What does a larger memory gain?",
    "a kind of method with two budgets",
    _TABLES,
)

sampling = Kind(
    draw_sampling,
    "Which samples are best stored?",
    "a kind of method with two strategies at the same budget",
    _TABLES,
)


def _accuracy(T: int, rows: pd.DataFrame) -> str:
    """Return the label of the axis of accuracies."""
    return captions.with_head(f"Average accuracy $A_{{{T}}}$ (%)", rows)


def _budgets(learners: pd.DataFrame) -> pd.DataFrame:
    """Return the budgets of learners, in the columns learner, kind, sampling, unit and budget."""
    columns = ["learner", "kind", "sampling"]
    # A row for each unit that a learner's budget is given in. The units are not
    # converted: three per class are thirty in total only once ten classes were learned.
    rows = learners.melt(columns, [*UNITS], "unit", "budget", ignore_index=False)
    rows = rows.dropna(subset="budget").sort_index(kind="stable")
    return rows.assign(unit=rows["unit"].map(UNITS), budget=rows["budget"].astype(int))


def _comparable_results(learners: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Return the results of strategies at the same kind and budget, by the number of their group.

    Args:
        learners: The table of learners.
        results: The rows of results by learner.
    """
    rows = _repeated_rows(
        _budgets(learners).merge(results, on="learner"), _GROUP, "sampling"
    )
    # A number for each group, from 0, which is its place along x.
    return rows.assign(group=rows.groupby(_GROUP, sort=False).ngroup())


def _repeated_rows(rows: pd.DataFrame, shared: list[str], varied: str) -> pd.DataFrame:
    """Return the rows that differ only in one column from others, the first of equal ones."""
    rows = rows.drop_duplicates([*shared, varied])
    return rows[rows.groupby(shared)[varied].transform("size") > 1]


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
    rows = _repeated_rows(_budgets(learners), _SWEEP, "budget")
    # For each kind, the learner that stores nothing, at budget 0 of each of its sweeps.
    nothing = where(learners, per_class=None, total=None).drop_duplicates("kind")
    zero = rows.drop_duplicates(_SWEEP).drop(columns=["learner"]).assign(budget=0)
    zero = zero.merge(nothing[["kind", "learner"]], on="kind")
    rows = pd.concat([zero, rows])
    rows["order"] = rows.groupby(_SWEEP, sort=False).ngroup()
    return rows.sort_values(["order", "budget"]).merge(results, on="learner")


def _plot_sweeps(
    axes: Axes, looks: Mapping[_Sweep, Appearance], rows: pd.DataFrame, page: Page
) -> None:
    """Draw a line for each kind and strategy over the budgets of one unit."""
    x = _positions(rows["budget"])
    # Lines dodge by a share of the smallest step, so that no point comes near the next
    # budget.
    closest = min(after - before for before, after in pairwise(x.values()))
    groups = list(rows.groupby(["kind", "sampling"], sort=False))
    for (sweep, points), offset in zip(groups, lines.dodges(len(groups)), strict=True):
        positions = points["budget"].map(x) + closest * offset
        # No line through two points, which show no course.
        lines.plot_means(axes, looks[sweep], positions, points, joined=len(points) > 2)
    page.name_ticks([axes], [dict(zip(x.values(), _budget_names(x), strict=True))])
    if 0 in x:
        # A logarithmic axis has no 0: there is a break between it and the others.
        axes.text(
            sum(sorted(x.values())[:2]) / 2,
            0,
            "//",
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2},
        )


def _positions(budgets: Iterable[int]) -> dict[int, float]:
    """Return the x position of each budget: its log10, and for 0 one median step to the left.

    >>> _positions([0, 1, 10, 100])
    {0: -1.0, 1: 0.0, 10: 1.0, 100: 2.0}
    """
    x = {budget: math.log10(budget) for budget in sorted(set(budgets) - {0})}
    if 0 not in set(budgets):
        return x
    steps = [after - before for before, after in pairwise(x.values())]
    # The median: one budget far from the others must not push 0 away.
    return {0: min(x.values()) - median(steps)} | x


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
        if position - last >= room:
            names.append(str(budget))
            last = position
        else:
            names.append("")
    return names


def _appearances(page: Page, sweeps: Iterable[_Sweep]) -> dict[_Sweep, Appearance]:
    """Return an appearance for each kind and strategy: the kind's, if it has a single strategy.

    Otherwise the legend names both the kind and the strategy.
    """
    kinds = [kind for kind, _ in sweeps]
    names = {}
    for kind, strategy in sweeps:
        names[kind, strategy] = kind
        if kinds.count(kind) > 1:
            names[kind, strategy] = f"{kind}, {strategy}"
    looks = learner_appearances(names.values())
    of_kinds = page.appearances(kinds)
    appearances = {}
    for (kind, strategy), name in names.items():
        label = of_kinds[kind].label
        if name != kind:
            # A spare appearance has the key as its name in print: it is put in words.
            words = strategy_appearances([strategy])[strategy].label
            label += f", {words.lower()}"
        appearances[kind, strategy] = replace(looks[name], label=label)
    return appearances


def _group_names(
    groups: Sequence[tuple[str, int, str]], page: Page
) -> tuple[str, list[str]]:
    """Return the label of x and the names of the groups, with the budget if budgets differ.

    >>> _group_names([("er", 10, "per class"), ("ewc", 10, "per class")], Page())
    ('Method, with 10 stored samples per class', ['ER', 'EWC'])
    >>> _group_names([("er", 10, "per class"), ("er", 20, "per class")], Page())
    ('Method, with stored samples', ['ER, 10 per class', 'ER, 20 per class'])
    >>> _group_names([("er", 10, "per class"), ("ewc", 10, "in total")], Page())
    ('Method, with stored samples', ['ER, 10 per class', 'EWC, 10 in total'])
    """
    names = [page.display_name(kind) for kind, _, _ in groups]
    _, budget, unit = groups[0]
    if len({group[1:] for group in groups}) == 1:
        return f"Method, with {budget} stored samples {unit}", names
    pairs = zip(names, groups, strict=True)
    full_names = [f"{name}, {count} {unit}" for name, (_, count, unit) in pairs]
    return "Method, with stored samples", full_names
