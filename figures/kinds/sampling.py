"""Average accuracy by sampling strategy: the best choice of stored samples.

x: kinds of learners, each at one budget; y: A_T in %, from metrics.csv; a mark for each strategy
(Chaudhry et al. 2018, figure 5).

Within a group only the strategy differs: kind of learner and number of samples are the same.
"""

from collections import defaultdict
from collections.abc import Sequence

from matplotlib.figure import Figure

from figures import labels, lines
from figures.appearance import strategy_appearances
from figures.pages.page import Page
from figures.tables import Tables
from probe.tables.rows import MetricRow

_Group = tuple[str, int, str]  # kind, number of samples, what they are counted by

QUESTION = "Which samples are best stored?"
NEEDS = "a kind of learner with two strategies at one budget"
TABLES = ("metrics", "learners")


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw A_T of every strategy, grouped by kind of learner and budget (Chaudhry 2018, figure 5).

    Bars are one standard deviation over seeds either way. The x axis names a budget that all groups
    share, otherwise each group's name does. Returns None if no kind has two strategies at one
    budget.
    """
    T, groups = _compared(tables)
    if not groups:
        return None
    appearances = strategy_appearances(name for group in groups.values() for name in group)
    # More marks than this would touch in a column of a page.
    (axes,) = page.panels([""], wide=len(groups) * len(appearances) > 16)
    lines.plot_groups(axes, appearances, list(groups.values()), most=0.2, span=0.6, scale=100)
    drawn = [row for group in groups.values() for row in group.values()]
    page.legend(appearances.values(), labels.over_seeds(drawn), joined=False)
    x_label, names = _named(list(groups), page)
    page.name_ticks([axes], [range(len(groups))], [names])
    sides = (x_label, labels.with_head(f"Average accuracy $A_{{{T}}}$ (%)", drawn))
    page.describe(
        dict.fromkeys(kind for kind, _, _ in groups),
        f"Average accuracy after {labels.counted(T, 'task')} by the strategy that selects the "
        f"stored samples",
        "Within a group the kind of learner and the number of samples are the same",
        labels.points_are(drawn),
        kinds=True,
    )
    return page.fit([axes], sides, height=2.0)


def _compared(tables: Tables) -> tuple[int, dict[_Group, dict[str, MetricRow]]]:
    """Return T, and by kind and budget the strategies, where there are two or more.

    Groups are in the order of learners.csv; of learners that differ in neither kind, strategy nor
    budget the first counts.
    """
    T, accuracy = tables.after_last_task("average_accuracy")
    groups: defaultdict[_Group, dict[str, MetricRow]] = defaultdict(dict)
    for row in tables.learners:
        for unit, budget in (("per class", row.per_class), ("in total", row.total)):
            if budget is not None and row.learner in accuracy:
                group = groups[row.kind, budget, unit]
                group.setdefault(row.sampling, accuracy[row.learner])
    return T, {key: group for key, group in groups.items() if len(group) > 1}


def _named(groups: Sequence[_Group], page: Page) -> tuple[str, list[str]]:
    """Return the x label and the groups' names, which include the budget if budgets differ.

    >>> _named([("er", 10, "per class"), ("ewc", 10, "per class")], Page())
    ('Learner, with 10 stored samples per class', ['ER', 'EWC'])
    >>> _named([("er", 10, "per class"), ("er", 20, "per class")], Page())
    ('Learner, with stored samples', ['ER, 10 per class', 'ER, 20 per class'])
    """
    kinds = page.looks(kind for kind, _, _ in groups)
    # One budget stands in the label of the axis, several in the names of the groups.
    budgets = {f"{budget} {unit}": f"{budget} stored samples {unit}" for _, budget, unit in groups}
    if len(budgets) == 1:
        return f"Learner, with {min(budgets.values())}", [
            kinds[kind].label for kind, _, _ in groups
        ]
    names = [f"{kinds[kind].label}, {budget} {unit}" for kind, budget, unit in groups]
    return "Learner, with stored samples", names
