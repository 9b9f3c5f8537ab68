import pytest

import figures
from figures.appearance import strategy_appearances
from figures.tables import Tables
from tests.figures import invented, seen

FOUR = ["uniform", "plane_distance", "entropy", "mean_of_features"]
GRID = [(kind, strategy, 10) for kind in ("finetune", "ewc", "rwalk") for strategy in FOUR]


def tables(stored):
    """Return the tables of learners, one for each of (kind, strategy, budget)."""
    learners = [
        invented.learner(f"{kind}-{how}-{budget}", kind, per_class=budget, sampling=how)
        for kind, how, budget in stored
    ]
    return Tables(metrics=invented.metrics([r.learner for r in learners]), learners=learners)


def groups(figure):
    """By (group, color): height and ends of the bar."""
    return {
        (round(x), container.lines[0].get_color()): (y, *bar)
        for container in figure.axes[0].containers
        for (x, y), bar in zip(seen.points(container), seen.bars(container), strict=True)
    }


def test_each_point_is_the_tables_in_its_group_and_color():
    figure = figures.sampling(tables(GRID))
    drawn = groups(figure)
    assert len(drawn) == len(GRID)
    for row in tables(GRID).metrics:
        if row.metric == "average_accuracy[5]":
            kind, strategy, _ = row.learner.split("-")
            group = ["finetune", "ewc", "rwalk"].index(kind)
            color = strategy_appearances(FOUR)[strategy].color
            expected = [100 * row.mean, *seen.spread([row])[0]]
            assert drawn[group, color] == pytest.approx(expected)
    (axes,) = figure.axes
    assert seen.tick_names(axes) == ["Finetune", "EWC", "RWalk"]
    assert axes.get_xticks().tolist() == [0, 1, 2]
    assert figure.get_supxlabel() == "Learner, with 10 stored samples per class"
    between = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert between == [0.5, 1.5]
    assert seen.legend(figure) == ["Uniform", "Plane distance", "Entropy", "Mean of features"]


def test_strategies_are_compared_at_one_budget_of_one_kind_only():
    stored = [
        *(("ewc", "uniform", 10), ("ewc", "entropy", 10), ("ewc", "entropy", 20)),
        *(("si", "uniform", 10), ("rwalk", "uniform", 50), ("rwalk", "entropy", 50)),
    ]
    figure = figures.sampling(tables(stored))
    assert seen.tick_names(figure.axes[0]) == ["EWC, 10 per class", "RWalk, 50 per class"]
    assert sorted(group for group, _ in groups(figure)) == [0, 0, 1, 1]
