import math
from dataclasses import replace

import numpy as np
import pytest

from figures import style
from figures.kinds import scores
from figures.tables import Tables
from tests.figures import invented, seen

# Diaz-Rodriguez 2018, table 3.
CL_SCORE = {
    "finetune": {"W1": 0.5140, "W2": 0.5529, "W3": 0.5312},
    "cumulative": {"W1": 0.5128, "W2": 0.6223, "W3": 0.5373},
    "ewc": {"W1": 0.4894, "W2": 0.6449, "W3": 0.5816},
}
WEIGHTINGS = ["W1", "W2", "W3"]


@pytest.fixture(scope="module")
def table():
    means = {
        f"cl_score[{each}]": {name: row[each] for name, row in CL_SCORE.items()}
        for each in WEIGHTINGS
    }
    return invented.metrics(CL_SCORE, weightings=WEIGHTINGS, **means)


@pytest.fixture(scope="module")
def figure(table):
    """Of scores among another paper's of the same name, which are not drawn."""
    return scores.draw(Tables(metrics=[*table, *(replace(r, paper="another") for r in table)]))


def marks(axes):
    """By learner's color: the heights in order of group, after a check of the groups."""
    found = {}
    for container in axes.containers:
        x, y = seen.points(container).T
        assert np.round(x).tolist() == list(range(len(x)))
        found[container.lines[0].get_color()] = y.tolist()
    return found


def test_the_first_panel_is_the_papers_table_and_the_second_the_stability(figure, table):
    assert seen.titles(figure) == ["CLscore", "CLstability"]
    score, stability = figure.axes
    assert seen.tick_names(score) == WEIGHTINGS
    assert marks(score) == {seen.color(n): list(row.values()) for n, row in CL_SCORE.items()}
    for name in CL_SCORE:
        rows = [r for r in table if r.learner == name and r.metric.startswith("cl_stability[")]
        assert marks(stability)[seen.color(name)] == [row.mean for row in rows]


def test_bars_are_drawn_where_there_is_a_deviation_and_announced_only_then(figure, table):
    rows = [r for r in table if r.learner == "finetune" and r.metric.startswith("cl_score[")]
    expected = seen.spread(rows, scale=1)
    assert seen.bars(figure.axes[0].containers[0]) == pytest.approx(expected)
    assert seen.note(figure) == "Mean ± standard deviation over 3 seeds"
    without = scores.draw(Tables(metrics=[replace(row, std=math.nan) for row in table]))
    assert not any(c.has_yerr for axes in without.axes for c in axes.containers)
    assert seen.note(without) == "Mean over 3 seeds"


def test_one_seed_has_no_stability_and_a_users_own_weights_are_a_group_too():
    table = invented.metrics(["ewc", "si"], seeds=1, weightings=["W1", "mine[1]"])
    figure = scores.draw(Tables(metrics=table))
    assert seen.titles(figure) == ["CLscore"]
    assert seen.tick_names(figure.axes[0]) == ["W1", "mine[1]"]
    assert [len(found) for found in marks(figure.axes[0]).values()] == [2, 2]
    others = [row for row in table if not row.metric.startswith("cl_score")]
    assert scores.draw(Tables(metrics=others)) is None


def test_scores_that_hardly_differ_have_plain_numbers_at_the_axis(table):
    close = [replace(row, mean=0.9999 + row.mean / 1e5, std=math.nan) for row in table]
    figure = scores.draw(Tables(metrics=close))
    with style.house_style():
        figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.yaxis.get_offset_text().get_text() == ""
        labels = [float(label.get_text()) for label in axes.get_yticklabels()]
        assert labels == pytest.approx(axes.get_yticks(), abs=1e-9)


def test_fourteen_learners_stay_within_their_group_and_apart():
    table = invented.metrics([f"own{k}" for k in range(14)], weightings=WEIGHTINGS)
    score, stability = scores.draw(Tables(metrics=table)).axes
    assert score.get_position().y0 > stability.get_position().y1
    for axes in (score, stability):
        x = np.array([c.lines[0].get_xdata() for c in axes.containers])
        assert abs(x - [0, 1, 2]).max() < 0.45
        pixels = axes.transData.transform(np.column_stack([x[:, 0], x[:, 0]]))[:, 0]
        assert np.diff(pixels).min() > 4.6 / 72 * axes.figure.dpi
