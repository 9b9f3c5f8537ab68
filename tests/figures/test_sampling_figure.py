import numpy as np
import pytest

from figures import appearance as looks
from figures.kinds import sampling

FOUR = ["uniform", "plane_distance", "entropy", "mean_of_features"]


@pytest.fixture
def tables(scored, storing):
    """Return metrics and learners, one for each of (kind, strategy, budget)."""

    def build(stored, *, seeds=3):
        names = ["-".join(map(str, key)) for key in stored]
        learners = [
            storing(name, kind, per_class=budget, sampling=strategy)
            for name, (kind, strategy, budget) in zip(names, stored, strict=True)
        ]
        return scored(names, seeds=seeds), learners

    return build


GRID = [(kind, strategy, 10) for kind in ("finetune", "ewc", "rwalk") for strategy in FOUR]


def points(axes):
    """By (group, color): height and ends of the bar."""
    found = {}
    for container in axes.containers:
        line, bars = container.lines[0], container.lines[2][0].get_segments()
        for (x, y), bar in zip(np.asarray(line.get_xydata(), float), bars, strict=True):
            found[round(x), line.get_color()] = (y, *bar[:, 1])
    return found


def test_each_point_is_the_tables_in_its_group_and_color(tables):
    metrics, learners = tables(GRID)
    (axes,) = sampling.draw(metrics, learners).axes
    look = looks.of_strategies(FOUR)
    drawn = points(axes)
    assert len(drawn) == len(GRID)
    for row in metrics:
        if row.metric == "average_accuracy[5]":
            kind, strategy, _ = row.learner.split("-")
            group = ["finetune", "ewc", "rwalk"].index(kind)
            low, high = row.mean - row.std, row.mean + row.std
            expected = (100 * row.mean, 100 * low, 100 * high)
            assert drawn[group, look[strategy].color] == pytest.approx(expected)


def test_groups_are_named_and_points_stay_within_their_group(tables):
    figure = sampling.draw(*tables(GRID))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Finetune", "EWC", "RWalk"]
    assert axes.get_xticks().tolist() == [0, 1, 2]
    assert figure.get_supxlabel() == "Learner, with 10 stored samples per class"
    parting = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    x = np.array([c.lines[0].get_xdata() for c in axes.containers], float)
    assert abs(x - np.round(x)).max() < 0.4
    assert parting == [0.5, 1.5]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["Uniform", "Plane distance", "Entropy", "Mean of features"]


def test_strategies_are_compared_at_one_budget_of_one_kind_only(tables):
    metrics, learners = tables(
        [
            ("ewc", "uniform", 10),
            ("ewc", "entropy", 10),
            ("ewc", "entropy", 20),
            ("si", "uniform", 10),
            ("rwalk", "uniform", 50),
            ("rwalk", "entropy", 50),
        ]
    )
    (axes,) = sampling.draw(metrics, learners).axes
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["EWC, 10 per class", "RWalk, 50 per class"]
    assert sorted(group for group, _ in points(axes)) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "stored",
    [
        [],
        [("ewc", "uniform", 10), ("si", "entropy", 10)],
        [("ewc", "uniform", 10), ("ewc", "entropy", 20)],
    ],
)
def test_without_a_kind_with_two_strategies_there_is_nothing_to_draw(stored, tables):
    assert sampling.draw(*tables(stored)) is None


def test_a_budget_in_total_is_not_one_per_class(tables, storing):
    metrics, (one, two) = tables([("ewc", "uniform", 10), ("ewc", "entropy", 10)])
    total = storing(two.learner, "ewc", total=10, sampling="entropy")
    assert sampling.draw(metrics, [one, total]) is None
    figure = sampling.draw(metrics, [storing(one.learner, "ewc", total=10, sampling="fifo"), total])
    assert figure.get_supxlabel() == "Learner, with 10 stored samples in total"


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("budgets", [[10], [1, 10, 100, 1000]])
def test_no_text_is_lost_and_no_data_are_cut_off(budgets, seeds, tables, text_faults, hidden_data):
    kinds = ["finetune", "ewc", "rwalk", "a_kind_with_a_long_name"]
    grid = [(kind, name, b) for b in budgets for kind in kinds for name in [*FOUR, "my_own_rule"]]
    figure = sampling.draw(*tables(grid, seeds=seeds))
    assert text_faults(figure) == []
    assert hidden_data(figure) == []
