import math
from dataclasses import replace

import numpy as np
import pytest

from figures.kinds import memory
from figures.tables import Tables
from tests.figures import invented, seen

# Average accuracy by kind and number of samples per class; None = stores nothing.
FOUND = {
    ("finetune", None): 0.38,
    ("finetune", 10): 0.737,
    ("finetune", 100): 0.92,
    ("finetune", 20): 0.81,
    ("rwalk", 10): 0.825,
    ("rwalk", 20): 0.85,
    ("ewc", None): 0.558,
    ("ewc", 10): 0.797,
}


def tables(found=FOUND, unit="per_class", *, seeds=3):
    """Return the tables of a sweep; unit: what a budget counts."""
    names = {f"{kind}-{budget}": (kind, budget) for kind, budget in found}
    final = {name: found[key] for name, key in names.items()}
    metrics = invented.metrics(names, seeds=seeds, **{"average_accuracy[5]": final})
    learners = [
        invented.learner(name, kind, **({unit: budget, "sampling": "uniform"} if budget else {}))
        for name, (kind, budget) in names.items()
    ]
    return Tables(metrics=[replace(row, std=row.std / 10) for row in metrics], learners=learners)


def together(one, other):
    return Tables(metrics=[*one.metrics, *other.metrics], learners=[*one.learners, *other.learners])


def lines(axes):
    """By color: the accuracies of each line by number of samples, read off the ticks."""
    marks = axes.get_xticks()
    budgets = [int(name) for name in seen.tick_names(axes)]
    return {
        container.lines[0].get_color(): {
            budgets[int(abs(marks - x).argmin())]: y for x, y in seen.points(container)
        }
        for container in axes.containers
    }


@pytest.fixture(scope="module")
def figure():
    return memory.draw(tables())


@pytest.fixture(scope="module")
def axes(figure):
    (axes,) = figure.axes
    return axes


def test_a_line_per_kind_with_two_budgets_in_order_of_budget_from_zero(figure, axes):
    drawn = lines(axes)
    assert set(drawn) == {seen.color("finetune"), seen.color("rwalk")}
    finetune, rwalk = drawn[seen.color("finetune")], drawn[seen.color("rwalk")]
    assert list(finetune) == [0, 10, 20, 100]
    assert finetune == pytest.approx({0: 38.0, 10: 73.7, 20: 81.0, 100: 92.0})
    assert list(rwalk) == [10, 20]
    assert rwalk == pytest.approx({10: 82.5, 20: 85.0})
    assert figure.get_supxlabel() == "Stored samples per class"


def test_bars_are_one_deviation_either_way(axes):
    rows = {row.learner: row for row in tables().metrics if row.metric == "average_accuracy[5]"}
    ordered = [rows[f"finetune-{budget}"] for budget in (None, 10, 20, 100)]
    assert seen.bars(axes.containers[0]) == pytest.approx(seen.spread(ordered))


def test_the_x_axis_is_logarithmic_but_for_zero(axes):
    at = dict(zip((0, 10, 20, 100), axes.get_xticks(), strict=True))
    assert (at[100] - at[10]) / (at[20] - at[10]) == pytest.approx(math.log2(10))
    assert at[10] - at[0] == pytest.approx((at[100] - at[10]) / 2)
    (broken,) = [text for text in axes.texts if text.get_text() == "//"]
    assert at[0] < broken.get_position()[0] < at[10]


def test_lines_dodge_by_less_than_half_way_to_the_next_budget(axes):
    marks = np.asarray(axes.get_xticks())
    away = [abs(marks - x).min() for drawn in axes.containers for x in drawn.lines[0].get_xdata()]
    assert 0 < max(away) < np.diff(marks).min() / 2


def test_a_study_that_always_stores_has_no_zero_and_no_break():
    figure = memory.draw(tables({key: value for key, value in FOUND.items() if key[1]}, "total"))
    assert seen.tick_names(figure.axes[0]) == ["10", "20", "100"]
    assert not figure.axes[0].texts
    assert figure.get_supxlabel() == "Stored samples in total"


def test_budgets_per_class_and_in_total_are_not_mixed():
    rest = {key: value for key, value in FOUND.items() if key[0] != "rwalk"}
    rwalk = {("rwalk", 100): 0.8, ("rwalk", 200): 0.85}
    figure = memory.draw(together(tables(rest), tables(rwalk, "total")))
    assert seen.titles(figure) == ["Per class", "In total"]
    expected = [[seen.color("finetune")], [seen.color("rwalk")]]
    assert [list(lines(axes)) for axes in figure.axes] == expected
    assert figure.get_supxlabel() == "Stored samples"


def test_only_who_stores_nothing_stands_at_zero():
    found = {("ewc", 10): 0.8, ("ewc", 20): 0.85}
    figure = memory.draw(together(tables(found), tables({("ewc", 500): 0.9}, "total")))
    assert seen.tick_names(figure.axes[0]) == ["10", "20"]


def test_a_kind_with_two_strategies_has_a_line_for_each_by_name():
    given = tables()
    again = [replace(row, learner=f"{row.learner}-mof") for row in given.metrics]
    others = [
        replace(row, learner=f"{row.learner}-mof", sampling="mean_of_features")
        for row in given.learners
        if row.kind == "rwalk"
    ]
    figure = memory.draw(together(given, Tables(metrics=again, learners=others)))
    assert seen.legend(figure) == ["Finetune", "RWalk, uniform", "RWalk, mean of features"]
    assert len({c.lines[0].get_marker() for c in figure.axes[0].containers}) == 3


def test_one_budget_per_kind_strategy_and_unit_is_nothing_to_draw():
    given = tables({("finetune", None): 0.4, ("finetune", 10): 0.7, ("ewc", 20): 0.8})
    assert memory.draw(given) is None
    row = next(row for row in given.learners if row.per_class == 10)
    same = replace(row, learner="ewc-20", per_class=20)
    accuracy = given.after_last_task("average_accuracy")[1]
    assert memory.sweeps([*given.learners, same], accuracy, "per_class")
    for other in ({"sampling": "entropy"}, {"kind": "si"}, {"per_class": None, "total": 20}):
        learners = [*given.learners, replace(same, **other)]
        assert not memory.sweeps(learners, accuracy, "per_class")


def test_learners_without_the_metric_do_not_count():
    given = tables()
    rest = [row for row in given.metrics if row.learner != "rwalk-20"]
    figure = memory.draw(Tables(metrics=rest, learners=given.learners))
    assert set(lines(figure.axes[0])) == {seen.color("finetune")}
    others = [row for row in given.metrics if "accuracy[" not in row.metric]
    assert memory.draw(Tables(metrics=others, learners=given.learners)) is None


@pytest.mark.parametrize(("count", "seeds"), [(2, 1), pytest.param(12, 3, marks=pytest.mark.slow)])
def test_no_text_is_lost_and_no_data_are_cut_off(count, seeds):
    kinds = ["finetune", "ewc", "ewc_online", "si", "rwalk", "lwf", "a_kind_with_a_long_name"]
    budgets = [None, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 5000][:count]
    found = {(k, b): 0.5 + 0.04 * n for k in kinds for n, b in enumerate([*budgets, 20000])}
    figure = memory.draw(tables(found, seeds=seeds))
    assert seen.text_faults(figure) == []
    assert seen.hidden_data(figure) == []
