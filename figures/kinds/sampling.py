"""Which stored samples serve best: the strategies that choose them, learner by learner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from figures import appearance as looks
from figures import heads, parts, style
from figures import metric_table as metrics
from probe.tables.rows import LearnerRow, MetricRow

_Group = tuple[str, int, str]  # kind, number of samples, what they are counted by


def draw(table: Sequence[MetricRow], learners: Sequence[LearnerRow]) -> Figure | None:
    """Draw A_T of every strategy, grouped by kind of learner and budget (Chaudhry 2018, figure 5).

    Bars are one standard deviation over seeds either way. Returns None if no kind has two
    strategies at one budget.
    """
    T, accuracy = metrics.final(table, "average_accuracy")
    groups = compared(learners, accuracy)
    if not groups:
        return None
    look = looks.of_strategies(name for group in groups.values() for name in group)
    offsets = parts.dodges(len(look), most=0.2, span=0.6)
    with style.house_style():
        width = style.SINGLE if len(groups) * len(look) <= 16 else style.DOUBLE
        figure, (axes,) = parts.panels(1, 1, width)
        for (name, each), offset in zip(look.items(), offsets, strict=True):
            rows = {k: group[name] for k, group in enumerate(groups.values()) if name in group}
            x, y = [k + offset for k in rows], [100 * row.mean for row in rows.values()]
            bars = [100 * row.std for row in rows.values()]
            parts.plot_bars(axes, each, x, y, y_bars=bars, joined=False)
        parts.part_groups(axes, len(groups))
        drawn = [row for group in groups.values() for row in group.values()]
        keys = [parts.learner_key(each, joined=False) for each in look.values()]
        parts.legend_above(figure, keys, parts.seeds_note(drawn))
        x_label, names = _named(list(groups))
        parts.name_places(figure, axes, range(len(groups)), names)
        labels = (x_label, heads.noted(f"Average accuracy $A_{{{T}}}$ (%)", drawn))
        parts.fit(figure, [axes], labels, height=2.0)
    return figure


def compared(
    learners: Sequence[LearnerRow], accuracy: Mapping[str, MetricRow]
) -> dict[_Group, dict[str, MetricRow]]:
    """Return by kind and budget the strategies, where there are two or more, in table order.

    Of learners that differ in neither kind, strategy nor budget the first counts.
    """
    groups: defaultdict[_Group, dict[str, MetricRow]] = defaultdict(dict)
    for row in learners:
        for unit, budget in (("per class", row.per_class), ("in total", row.total)):
            if budget is not None and row.learner in accuracy:
                group = groups[row.kind, budget, unit]
                group.setdefault(row.sampling, accuracy[row.learner])
    return {key: group for key, group in groups.items() if len(group) > 1}


def _named(groups: Sequence[_Group]) -> tuple[str, list[str]]:
    """Return the label of the x axis and the groups' names, which tell a budget if there are two.

    >>> _named([("er", 10, "per class"), ("ewc", 10, "per class")])
    ('Learner, with 10 stored samples per class', ['ER', 'EWC'])
    >>> _named([("er", 10, "per class"), ("er", 20, "per class")])
    ('Learner, with stored samples', ['ER, 10 per class', 'ER, 20 per class'])
    """
    look = looks.of_learners(kind for kind, _, _ in groups)
    budgets = {f"{budget} {unit}": f"{budget} stored samples {unit}" for _, budget, unit in groups}
    if len(budgets) == 1:
        return f"Learner, with {min(budgets.values())}", [look[kind].label for kind, _, _ in groups]
    names = [f"{look[kind].label}, {budget} {unit}" for kind, budget, unit in groups]
    return "Learner, with stored samples", names
