"""Final accuracy against the number of stored samples."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import appearance as looks
from figures import heads, parts, style
from figures import metric_table as metrics
from probe.tables.rows import LearnerRow, MetricRow

UNITS = {"per_class": "per class", "total": "in total"}
"""What a budget counts, by its column in the table of learners."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Learners of one kind and sampling strategy by the number of samples that they store."""

    kind: str
    sampling: str
    points: dict[int, MetricRow]


def draw(table: Sequence[MetricRow], learners: Sequence[LearnerRow]) -> Figure | None:
    """Draw A_T against the number of stored samples, one line per `Sweep` (Chaudhry 2018, fig. 4).

    Budgets per class and in total have a panel each. The x axis is logarithmic; a learner of the
    kind that stores nothing stands at 0, beside the axis's smallest number. Bars are one standard
    deviation over seeds either way. Returns None if no kind has two budgets.
    """
    T, accuracy = metrics.final(table, "average_accuracy")
    swept = {unit: sweeps(learners, accuracy, unit) for unit in UNITS}
    units = [unit for unit in UNITS if swept[unit]]
    if not units:
        return None
    look = _looks([sweep for unit in units for sweep in swept[unit]])
    with style.house_style():
        width = style.SINGLE if len(units) == 1 else style.DOUBLE
        figure, grid = parts.panels(len(units), len(units), width)
        for axes, unit in zip(grid, units, strict=True):
            _panel(figure, axes, look, swept[unit])
            if len(units) > 1:
                axes.set_title(UNITS[unit].capitalize())
        rows = [row for unit in units for sweep in swept[unit] for row in sweep.points.values()]
        keys = [parts.learner_key(each) for each in look.values()]
        parts.legend_above(figure, keys, parts.seeds_note(rows))
        unit = f" {UNITS[units[0]]}" if len(units) == 1 else ""
        labels = (f"Stored samples{unit}", heads.noted(f"Average accuracy $A_{{{T}}}$ (%)", rows))
        parts.fit(figure, grid, labels, height=2.0)
    return figure


def sweeps(
    learners: Sequence[LearnerRow], accuracy: Mapping[str, MetricRow], unit: str
) -> list[Sweep]:
    """Return the kinds and strategies with two budgets or more of that unit, in table order.

    `points` holds a learner of the kind that stores nothing at 0. Of learners that differ in
    neither kind, strategy nor budget the first counts.
    """
    plain: dict[str, MetricRow] = {}
    budgets: defaultdict[tuple[str, str], dict[int, MetricRow]] = defaultdict(dict)
    for row in learners:
        budget: int | None = getattr(row, unit)
        if row.learner not in accuracy:
            continue
        if budget is not None:
            budgets[row.kind, row.sampling].setdefault(budget, accuracy[row.learner])
        elif row.per_class is None and row.total is None:
            plain.setdefault(row.kind, accuracy[row.learner])
    return [
        Sweep(
            kind=kind,
            sampling=sampling,
            points={**({0: plain[kind]} if kind in plain else {}), **dict(sorted(points.items()))},
        )
        for (kind, sampling), points in budgets.items()
        if len(points) > 1
    ]


def places(budgets: Sequence[int]) -> dict[int, float]:
    """Return where each budget stands on the x axis: at its log10; 0 the median step before all.

    >>> places([0, 1, 10, 100])
    {0: -1.0, 1: 0.0, 10: 1.0, 100: 2.0}
    """
    stored = {budget: math.log10(budget) for budget in sorted(set(budgets)) if budget}
    if 0 not in budgets:
        return stored
    step = median(after - before for before, after in pairwise(stored.values()))
    return {0: min(stored.values()) - step, **stored}


def named(place: Mapping[int, float]) -> list[str]:
    """Return the budgets' names, "" for one that is too close to the last named before it.

    >>> named({10: 0.0, 11: 0.01, 100: 1.0})
    ['10', '', '100']
    """
    room = 0.075 * (max(place.values()) - min(place.values()))
    names, last = [], -math.inf
    for budget, at in place.items():
        names.append(str(budget) if at - last >= room else "")
        last = at if names[-1] else last
    return names


def _panel(
    figure: Figure, axes: Axes, look: Mapping[tuple[str, str], looks.Look], drawn: Sequence[Sweep]
) -> None:
    place = places([budget for sweep in drawn for budget in sweep.points])
    closest = min(after - before for before, after in pairwise(place.values()))
    for sweep, dodge in zip(drawn, parts.dodges(len(drawn)), strict=True):
        x = [place[budget] + closest * dodge for budget in sweep.points]
        parts.plot_means(axes, look[sweep.kind, sweep.sampling], x, list(sweep.points.values()))
    parts.name_places(figure, axes, list(place.values()), named(place))
    if 0 in place:
        _break_axis(axes, (place[0] + sorted(place.values())[1]) / 2)


def _break_axis(axes: Axes, x: float) -> None:
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.2}
    place = axes.get_xaxis_transform()
    axes.text(x, 0, "//", transform=place, ha="center", va="center", bbox=ground)


def _looks(drawn: Sequence[Sweep]) -> dict[tuple[str, str], looks.Look]:
    """Return a look for each kind and strategy: the kind's own where it has one strategy alone."""
    keys = list(dict.fromkeys((sweep.kind, sweep.sampling) for sweep in drawn))
    kinds = [kind for kind, _ in keys]
    names = {key: key[0] if kinds.count(key[0]) == 1 else ", ".join(key) for key in keys}
    look, of_kind = looks.of_learners(names.values()), looks.of_learners(kinds)
    strategies = looks.of_strategies(sampling for _, sampling in keys)
    return {
        (kind, sampling): look[name]
        if name == kind
        else replace(
            look[name], label=f"{of_kind[kind].label}, {strategies[sampling].label.lower()}"
        )
        for (kind, sampling), name in names.items()
    }
