import math
from dataclasses import replace

import numpy as np
import pytest

from figures import appearance as looks
from figures.kinds import memory

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


@pytest.fixture
def tables(scored, storing):
    """Return metrics and learners of a study; `unit` says what a budget counts."""

    def build(found=FOUND, unit="per_class", *, seeds=3):
        names = {f"{kind}-{budget}": (kind, budget) for kind, budget in found}
        metrics = [
            replace(row, mean=found[names[row.learner]], std=row.std / 10)
            if row.metric == "average_accuracy[5]"
            else row
            for row in scored(names, seeds=seeds)
        ]
        stores = {
            name: {unit: budget, "sampling": "uniform"} if budget else {}
            for name, (_, budget) in names.items()
        }
        return metrics, [storing(name, names[name][0], **kept) for name, kept in stores.items()]

    return build


def lines(axes):
    """By color: the numbers of samples and the accuracies of each line, read off the ticks."""
    marks = axes.get_xticks()
    budgets = [int(label.get_text()) for label in axes.get_xticklabels()]
    found = {}
    for container in axes.containers:
        line = container.lines[0]
        nearest = [budgets[int(abs(marks - x).argmin())] for x in line.get_xdata()]
        found[line.get_color()] = dict(zip(nearest, line.get_ydata(), strict=True))
    return found


def color(kind):
    return looks.of_learners([kind])[kind].color


def test_a_line_per_kind_with_two_budgets_in_order_of_budget_from_zero(tables):
    (axes,) = memory.draw(*tables()).axes
    drawn = lines(axes)
    assert set(drawn) == {color("finetune"), color("rwalk")}
    finetune, rwalk = drawn[color("finetune")], drawn[color("rwalk")]
    assert list(finetune) == [0, 10, 20, 100]
    assert finetune == pytest.approx({0: 38.0, 10: 73.7, 20: 81.0, 100: 92.0})
    assert list(rwalk) == [10, 20]
    assert rwalk == pytest.approx({10: 82.5, 20: 85.0})


def test_bars_are_one_deviation_either_way(tables):
    metrics, learners = tables()
    (axes,) = memory.draw(metrics, learners).axes
    finetune = axes.containers[0]
    rows = {row.learner: row for row in metrics if row.metric == "average_accuracy[5]"}
    ordered = [rows[f"finetune-{budget}"] for budget in (None, 10, 20, 100)]
    ends = np.array([bar[:, 1] for bar in finetune.lines[2][0].get_segments()])
    assert ends == pytest.approx(
        np.array([[100 * (r.mean - r.std), 100 * (r.mean + r.std)] for r in ordered])
    )


def test_the_x_axis_is_logarithmic_but_for_zero(tables):
    (axes,) = memory.draw(*tables()).axes
    place = dict(zip((0, 10, 20, 100), axes.get_xticks(), strict=True))
    assert (place[100] - place[10]) / (place[20] - place[10]) == pytest.approx(math.log2(10))
    assert place[10] - place[0] == pytest.approx((place[100] - place[10]) / 2)
    (broken,) = [text for text in axes.texts if text.get_text() == "//"]
    assert place[0] < broken.get_position()[0] < place[10]


def test_a_study_that_always_stores_has_no_zero_and_no_break(tables):
    found = {key: value for key, value in FOUND.items() if key[1]}
    (axes,) = memory.draw(*tables(found)).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "20", "100"]
    assert not axes.texts


def test_lines_dodge_by_less_than_half_way_to_the_next_budget(tables):
    (axes,) = memory.draw(*tables()).axes
    marks = np.asarray(axes.get_xticks())
    away = [abs(marks - x).min() for drawn in axes.containers for x in drawn.lines[0].get_xdata()]
    assert 0 < max(away) < np.diff(marks).min() / 2


def test_budgets_per_class_and_in_total_are_not_mixed(tables):
    figure = memory.draw(*tables(unit="total"))
    assert figure.get_supxlabel() == "Stored samples in total"
    assert memory.draw(*tables()).get_supxlabel() == "Stored samples per class"
    rest = {key: value for key, value in FOUND.items() if key[0] != "rwalk"}
    rwalk = {("rwalk", 100): 0.8, ("rwalk", 200): 0.85}
    (first, own), (second, other) = tables(rest), tables(rwalk, "total")
    figure = memory.draw([*first, *second], [*own, *other])
    assert [axes.get_title() for axes in figure.axes] == ["Per class", "In total"]
    assert [list(lines(axes)) for axes in figure.axes] == [[color("finetune")], [color("rwalk")]]
    assert figure.get_supxlabel() == "Stored samples"


def test_only_who_stores_nothing_stands_at_zero(tables):
    found = {("ewc", 10): 0.8, ("ewc", 20): 0.85}
    (first, own), (second, other) = tables(found), tables({("ewc", 500): 0.9}, "total")
    (axes,) = memory.draw([*first, *second], [*own, *other]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "20"]


def test_a_kind_with_two_strategies_has_a_line_for_each_by_name(tables):
    metrics, learners = tables()
    again = [replace(row, learner=f"{row.learner}-mof") for row in metrics]
    others = [
        replace(row, learner=f"{row.learner}-mof", sampling="mean_of_features")
        for row in learners
        if row.kind == "rwalk"
    ]
    figure = memory.draw([*metrics, *again], [*learners, *others])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["Finetune", "RWalk, uniform", "RWalk, mean of features"]
    assert len({c.lines[0].get_marker() for c in figure.axes[0].containers}) == 3


def test_one_budget_per_kind_strategy_and_unit_is_nothing_to_draw(tables):
    found = {("finetune", None): 0.4, ("finetune", 10): 0.7, ("ewc", 20): 0.8}
    metrics, learners = tables(found)
    assert memory.draw(metrics, learners) is None
    row = next(row for row in learners if row.per_class == 10)
    same = replace(row, learner="ewc-20", per_class=20)
    assert memory.draw(metrics, [*learners, same]) is not None
    for other in ({"sampling": "entropy"}, {"kind": "si"}, {"per_class": None, "total": 20}):
        assert memory.draw(metrics, [*learners, replace(same, **other)]) is None


def test_learners_without_the_metric_do_not_count(tables):
    metrics, learners = tables()
    rwalk = [row for row in metrics if row.learner != "rwalk-20"]
    (axes,) = memory.draw(rwalk, learners).axes
    assert set(lines(axes)) == {color("finetune")}
    assert memory.draw([row for row in metrics if "accuracy[" not in row.metric], learners) is None


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("count", [2, 12])
def test_no_text_is_lost_and_no_data_are_cut_off(count, seeds, tables, text_faults, hidden_data):
    kinds = ["finetune", "ewc", "ewc_online", "si", "rwalk", "lwf", "a_kind_with_a_long_name"]
    budgets = [None, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 5000][:count]
    found = {(k, b): 0.5 + 0.04 * n for k in kinds for n, b in enumerate([*budgets, 20000])}
    figure = memory.draw(*tables(found, seeds=seeds))
    assert text_faults(figure) == []
    assert hidden_data(figure) == []
