import math
from itertools import product

import numpy as np
import pytest

import figures
from figures.tables import StudyTables
from probe.tables.table_file import new_table
from tests.figures import invented, seen

# Average accuracy by kind and number of samples; None = stores nothing.
FINETUNE = {None: 0.38, 10: 0.737, 100: 0.92, 20: 0.81}
FOUND = {
    **{("finetune", budget): accuracy for budget, accuracy in FINETUNE.items()},
    **{
        ("rwalk", 10): 0.825,
        ("rwalk", 20): 0.85,
        ("ewc", None): 0.558,
        ("ewc", 10): 0.797,
    },
}


def tables(found=FOUND, total=()):
    """Return the tables of a sweep; total: the kinds with budgets in total."""
    final = {f"{kind}-{budget}": accuracy for (kind, budget), accuracy in found.items()}
    metrics = invented.metrics(final, **{"average_accuracy[5]": final})
    units = {kind: "total" if kind in total else "per_class" for kind, _ in found}
    learners = [
        invented.learner(
            f"{kind}-{budget}",
            kind,
            **{units[kind]: budget},
            sampling="uniform",
        )
        for kind, budget in found
    ]
    metrics["std"] /= 10
    return StudyTables(metrics=metrics, learners=new_table("learners", learners))


def lines(axes):
    """By color: the accuracies of each line by number of samples, read off the ticks."""
    budgets = [int(name) for name in seen.tick_names(axes)]
    result = {}
    for container in axes.containers:
        line = result[container.lines[0].get_color()] = {}
        for x, y in seen.points(container):
            nearest = abs(axes.get_xticks() - x).argmin()
            line[budgets[nearest]] = y
    return result


def test_a_line_per_kind_with_two_budgets_on_a_logarithmic_axis_with_a_break_at_zero():
    figure = figures.memory(tables())
    (axes,) = figure.axes
    assert len(axes.containers) == 2
    finetune = lines(axes)[seen.color("finetune")]
    rwalk = lines(axes)[seen.color("rwalk")]
    assert list(finetune) == [0, 10, 20, 100]
    assert finetune == pytest.approx(
        {k or 0: 100 * value for k, value in FINETUNE.items()}
    )
    assert rwalk == pytest.approx({10: 82.5, 20: 85.0})
    assert figure.get_supxlabel() == "Stored samples per class"
    ticks = np.asarray(axes.get_xticks())
    at = dict(zip((0, 10, 20, 100), ticks, strict=True))
    assert (at[100] - at[10]) / (at[20] - at[10]) == pytest.approx(math.log2(10))
    assert at[10] - at[0] == pytest.approx((at[100] - at[10]) / 2)
    (broken,) = [text for text in axes.texts if text.get_text() == "//"]
    assert at[0] < broken.get_position()[0] < at[10]
    x = np.concatenate([seen.points(drawn)[:, 0] for drawn in axes.containers])
    away = abs(ticks - x[:, None]).min(axis=1)
    assert 0 < max(away) < np.diff(ticks).min() / 2


def test_budgets_per_class_and_in_total_are_not_mixed_and_without_zero_there_is_no_break():
    figure = figures.memory(tables(FOUND | {("rwalk", 200): 0.9}, total=["rwalk"]))
    assert seen.titles(figure) == ["Per class", "In total"]
    expected = [[seen.color("finetune")], [seen.color("rwalk")]]
    assert [list(lines(axes)) for axes in figure.axes] == expected
    assert figure.get_supxlabel() == "Stored samples"
    assert seen.tick_names(figure.axes[1]) == ["10", "20", "200"]
    assert not figure.axes[1].texts


FOUR = ["uniform", "plane_distance", "entropy", "mean_of_features"]
KINDS = ["finetune", "ewc", "rwalk"]
GRID = list(product(KINDS, FOUR, [10]))


def strategies(stored):
    """Return the tables of learners, one for each of (kind, strategy, budget)."""
    learners = [
        invented.learner(
            f"{kind}-{how}-{budget}",
            kind,
            per_class=budget,
            sampling=how,
        )
        for kind, how, budget in stored
    ]
    table = new_table("learners", learners)
    return StudyTables(metrics=invented.metrics(table["learner"]), learners=table)


def test_groups_of_one_budget_have_it_in_the_label_and_lines_between_them():
    figure = figures.sampling(strategies(GRID))
    (axes,) = figure.axes
    assert seen.tick_names(axes) == ["Finetune", "EWC", "RWalk"]
    assert figure.get_supxlabel() == "Method, with 10 stored samples per class"
    between = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert between == [0.5, 1.5]
    assert seen.legend(figure)[-1] == "Mean of features"


def test_strategies_are_compared_at_one_budget_of_one_kind_only():
    stored = [
        ("ewc", "uniform", 10),
        ("ewc", "entropy", 10),
        ("ewc", "entropy", 20),
        ("si", "uniform", 10),
        ("rwalk", "uniform", 50),
        ("rwalk", "entropy", 50),
    ]
    figure = figures.sampling(strategies(stored))
    assert seen.tick_names(figure.axes[0]) == [
        "EWC, 10 per class",
        "RWalk, 50 per class",
    ]
    drawn = [seen.points(bars)[:, 0] for bars in figure.axes[0].containers]
    assert sorted(np.concatenate(drawn).round()) == [0, 0, 1, 1]
