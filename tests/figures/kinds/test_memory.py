import math
from dataclasses import replace

import numpy as np
import pytest

from figures.kinds import memory
from figures.tables import Tables
from tests.figures import invented, seen

# Average accuracy by kind and number of samples per class; None = stores nothing.
FINETUNE = {None: 0.38, 10: 0.737, 100: 0.92, 20: 0.81}
FOUND = {
    **{("finetune", budget): accuracy for budget, accuracy in FINETUNE.items()},
    **{("rwalk", 10): 0.825, ("rwalk", 20): 0.85, ("ewc", None): 0.558, ("ewc", 10): 0.797},
}


def tables(found=FOUND, unit="per_class", *, seeds=3, more=None):
    """Return the tables of a sweep; unit: what a budget counts; more: further tables."""
    names = {f"{kind}-{budget}": (kind, budget) for kind, budget in found}
    final = {name: found[key] for name, key in names.items()}
    metrics = invented.metrics(names, seeds=seeds, **{"average_accuracy[5]": final})
    learners = [
        invented.learner(name, kind, **({unit: budget, "sampling": "uniform"} if budget else {}))
        for name, (kind, budget) in names.items()
    ]
    return Tables(
        metrics=[*(replace(r, std=r.std / 10) for r in metrics), *(more.metrics if more else [])],
        learners=[*learners, *(more.learners if more else [])],
    )


def lines(axes):
    """By color: the accuracies of each line by number of samples, read off the ticks."""
    budgets = [int(name) for name in seen.tick_names(axes)]
    return {
        container.lines[0].get_color(): {
            budgets[int(abs(axes.get_xticks() - x).argmin())]: y for x, y in seen.points(container)
        }
        for container in axes.containers
    }


@pytest.fixture(scope="module")
def figure():
    return memory.draw(tables())


def test_a_line_per_kind_with_two_budgets_in_order_of_budget_from_zero(figure):
    (axes,) = figure.axes
    finetune, rwalk = (lines(axes).pop(seen.color(kind)) for kind in ("finetune", "rwalk"))
    assert len(axes.containers) == 2
    assert list(finetune) == [0, 10, 20, 100]
    assert finetune == pytest.approx({k or 0: 100 * value for k, value in FINETUNE.items()})
    assert rwalk == pytest.approx({10: 82.5, 20: 85.0})
    assert figure.get_supxlabel() == "Stored samples per class"
    rows = {row.learner: row for row in tables().metrics if row.metric == "average_accuracy[5]"}
    ordered = [rows[f"finetune-{budget}"] for budget in (None, 10, 20, 100)]
    assert seen.bars(axes.containers[0]) == pytest.approx(seen.spread(ordered))


def test_the_x_axis_is_logarithmic_but_for_zero_and_lines_dodge_by_less_than_half_a_step(figure):
    (axes,) = figure.axes
    ticks = np.asarray(axes.get_xticks())
    at = dict(zip((0, 10, 20, 100), ticks, strict=True))
    assert (at[100] - at[10]) / (at[20] - at[10]) == pytest.approx(math.log2(10))
    assert at[10] - at[0] == pytest.approx((at[100] - at[10]) / 2)
    (broken,) = [text for text in axes.texts if text.get_text() == "//"]
    assert at[0] < broken.get_position()[0] < at[10]
    away = [abs(ticks - x).min() for drawn in axes.containers for x, _ in seen.points(drawn)]
    assert 0 < max(away) < np.diff(ticks).min() / 2


def test_a_study_that_always_stores_has_no_zero_and_no_break():
    figure = memory.draw(tables({key: value for key, value in FOUND.items() if key[1]}, "total"))
    assert seen.tick_names(figure.axes[0]) == ["10", "20", "100"]
    assert not figure.axes[0].texts
    assert figure.get_supxlabel() == "Stored samples in total"


def test_budgets_per_class_and_in_total_are_not_mixed():
    rest = {key: value for key, value in FOUND.items() if key[0] != "rwalk"}
    in_total = tables({("rwalk", 100): 0.8, ("rwalk", 200): 0.85}, "total")
    figure = memory.draw(tables(rest, more=in_total))
    assert seen.titles(figure) == ["Per class", "In total"]
    expected = [[seen.color("finetune")], [seen.color("rwalk")]]
    assert [list(lines(axes)) for axes in figure.axes] == expected
    assert figure.get_supxlabel() == "Stored samples"


def test_only_who_stores_nothing_stands_at_zero():
    in_total = tables({("ewc", 500): 0.9}, "total")
    figure = memory.draw(tables({("ewc", 10): 0.8, ("ewc", 20): 0.85}, more=in_total))
    assert seen.tick_names(figure.axes[0]) == ["10", "20"]


def test_a_kind_with_two_strategies_has_a_line_for_each_by_name():
    again = [replace(row, learner=f"{row.learner}-mof") for row in tables().metrics]
    others = [
        replace(row, learner=f"{row.learner}-mof", sampling="mean_of_features")
        for row in tables().learners
        if row.kind == "rwalk"
    ]
    figure = memory.draw(tables(more=Tables(metrics=again, learners=others)))
    assert seen.legend(figure) == ["Finetune", "RWalk, uniform", "RWalk, mean of features"]
    assert len({c.lines[0].get_marker() for c in figure.axes[0].containers}) == 3


@pytest.mark.parametrize(
    ("other", "swept"),
    [
        ({}, True),
        *(({key: value}, False) for key, value in (("sampling", "entropy"), ("kind", "si"))),
        ({"per_class": None, "total": 20}, False),
    ],
)
def test_one_budget_per_kind_strategy_and_unit_is_nothing_to_draw(other, swept):
    given = tables({("finetune", None): 0.4, ("finetune", 10): 0.7, ("ewc", 20): 0.8})
    second = replace(given.learners[1], learner="ewc-20", **{"per_class": 20, **other})
    accuracy = given.after_last_task("average_accuracy")[1]
    assert bool(memory.sweeps([*given.learners, second], accuracy, "per_class")) == swept
    assert memory.draw(given) is None


def test_learners_without_the_metric_do_not_count():
    rest = [row for row in tables().metrics if row.learner != "rwalk-20"]
    figure = memory.draw(Tables(metrics=rest, learners=tables().learners))
    assert set(lines(figure.axes[0])) == {seen.color("finetune")}


@pytest.mark.parametrize(("count", "seeds"), [(2, 1), pytest.param(12, 3, marks=pytest.mark.slow)])
def test_no_text_is_lost_and_no_data_are_cut_off(count, seeds):
    kinds = ["finetune", "ewc", "ewc_online", "si", "rwalk", "lwf", "a_kind_with_a_long_name"]
    budgets = [None, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 5000][:count]
    found = {(k, b): 0.5 + 0.04 * n for k in kinds for n, b in enumerate([*budgets, 20000])}
    figure = memory.draw(tables(found, seeds=seeds))
    assert seen.text_faults(figure) + seen.hidden_data(figure) == []
