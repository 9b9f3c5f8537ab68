import math
from dataclasses import replace

import numpy as np
import pytest

from figures import appearance as looks
from figures import style
from figures.kinds import scores

# Diaz-Rodriguez 2018, table 3.
CL_SCORE = {
    "finetune": {"W1": 0.5140, "W2": 0.5529, "W3": 0.5312},
    "cumulative": {"W1": 0.5128, "W2": 0.6223, "W3": 0.5373},
    "ewc": {"W1": 0.4894, "W2": 0.6449, "W3": 0.5816},
}


@pytest.fixture
def table(scored):
    metrics = {
        f"cl_score[{weights}]": {name: row[weights] for name, row in CL_SCORE.items()}
        for weights in ("W1", "W2", "W3")
    }
    return [
        replace(row, mean=metrics[row.metric][row.learner]) if row.metric in metrics else row
        for row in scored(CL_SCORE, weightings=["W1", "W2", "W3"])
    ]


def marks(axes):
    """By learner's color: the heights in order of group, after a check of the groups."""
    found = {}
    for container in axes.containers:
        x, y = np.asarray(container.lines[0].get_xydata(), float).T
        assert np.round(x).tolist() == list(range(len(x)))
        found[container.lines[0].get_color()] = y.tolist()
    return found


def color(learner):
    return looks.of_learners([learner])[learner].color


def test_the_first_panel_is_the_papers_table_group_by_group(table):
    score, _ = scores.draw(table).axes
    assert score.get_title() == "CLscore"
    assert [label.get_text() for label in score.get_xticklabels()] == ["W1", "W2", "W3"]
    expected = {color(name): list(row.values()) for name, row in CL_SCORE.items()}
    assert marks(score) == expected
    another = [replace(row, paper="another", mean=0.0) for row in table]
    assert marks(scores.draw([*table, *another]).axes[0]) == expected


def test_the_second_panel_is_the_stability(table):
    _, stability = scores.draw(table).axes
    assert stability.get_title() == "CLstability"
    for name in CL_SCORE:
        rows = [r for r in table if r.learner == name and r.metric.startswith("cl_stability[")]
        assert marks(stability)[color(name)] == [row.mean for row in rows]


def test_one_seed_has_no_stability(scored):
    figure = scores.draw(scored(["ewc"], seeds=1))
    assert [axes.get_title() for axes in figure.axes] == ["CLscore"]
    assert not figure.axes[0].containers[0].has_yerr


def test_bars_are_drawn_where_there_is_a_deviation_and_announced_only_then(table):
    with_bars = scores.draw(table)
    row = next(row for row in table if row.metric == "cl_score[W1]")
    (low, high), *_ = (
        bar[:, 1] for bar in with_bars.axes[0].containers[0].lines[2][0].get_segments()
    )
    assert (low, high) == pytest.approx((row.mean - row.std, row.mean + row.std))
    without = scores.draw([replace(row, std=math.nan) for row in table])
    assert not any(c.has_yerr for axes in without.axes for c in axes.containers)
    titles = [figure.legends[0].get_title().get_text() for figure in (with_bars, without)]
    assert titles == ["Mean ± standard deviation over 3 seeds", "Mean over 3 seeds"]


def test_a_users_own_weights_are_a_group_too(scored):
    figure = scores.draw(scored(["ewc", "si"], weightings=["W1", "mine[1]"]))
    for axes in figure.axes:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["W1", "mine[1]"]
        assert [len(heights) for heights in marks(axes).values()] == [2, 2]


def test_scores_that_hardly_differ_have_plain_numbers_at_the_axis(table):
    close = [replace(row, mean=0.9999 + row.mean / 1e5, std=math.nan) for row in table]
    figure = scores.draw(close)
    with style.house_style():
        figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.yaxis.get_offset_text().get_text() == ""
        labels = [float(label.get_text()) for label in axes.get_yticklabels()]
        assert labels == pytest.approx(axes.get_yticks(), abs=1e-9)


def test_without_scores_there_is_nothing_to_draw(table):
    assert scores.draw([row for row in table if not row.metric.startswith("cl_score")]) is None
    assert scores.draw([replace(row, paper="chaudhry") for row in table]) is None


def test_fourteen_learners_stay_within_their_group_and_apart(scored):
    names = [f"own{k}" for k in range(14)]
    score, stability = scores.draw(scored(names, weightings=["W1", "W2", "W3"])).axes
    assert score.get_position().y0 > stability.get_position().y1
    for axes in (score, stability):
        x = np.array([c.lines[0].get_xdata() for c in axes.containers])
        assert abs(x - [0, 1, 2]).max() < 0.45
        pixels = axes.transData.transform(np.column_stack([x[:, 0], x[:, 0]]))[:, 0]
        assert np.diff(pixels).min() > 4.6 / 72 * axes.figure.dpi
