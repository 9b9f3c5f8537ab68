import math
from dataclasses import replace

import numpy as np
import pytest

from figures import style
from figures.kinds import scores
from figures.tables import Tables
from tests.figures import invented, papers, seen

WEIGHTINGS = ["W1", "mine[1]"]


def test_marks_are_the_scores_and_their_stability_group_by_group():
    figure = papers.figure("scores")
    assert seen.titles(figure) == ["CLscore", "CLstability"]
    assert seen.note(figure) == "Mean ± standard deviation over 2 seeds"
    for axes, metric in zip(figure.axes, ("cl_score", "cl_stability"), strict=True):
        assert seen.tick_names(axes) == WEIGHTINGS
        for name, drawn in zip([*papers.LEARNERS, *papers.SWEEP], axes.containers, strict=True):
            rows = [papers.metric(f"{metric}[{each}]", name) for each in WEIGHTINGS]
            assert np.round(seen.points(drawn)[:, 0]).tolist() == [0, 1]
            assert seen.heights(drawn) == pytest.approx([row.mean for row in rows])
            assert seen.bars(drawn) == pytest.approx(seen.spread(rows, scale=1))


def test_scores_of_another_paper_and_stability_of_one_seed_are_not_drawn():
    table = invented.metrics(["ewc", "si"], seeds=1)
    figure = scores.draw(Tables(metrics=[*table, *(replace(r, paper="another") for r in table)]))
    assert seen.titles(figure) == ["CLscore"]
    assert [len(seen.points(c)) for c in figure.axes[0].containers] == [1, 1]


def test_scores_that_hardly_differ_have_plain_numbers_at_the_axis():
    table = invented.metrics(["ewc", "si"])
    close = [replace(row, mean=0.9999 + row.mean / 1e5, std=math.nan) for row in table]
    figure = scores.draw(Tables(metrics=close))
    assert seen.note(figure) == "Mean over 3 seeds"
    with style.house_style():
        figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.yaxis.get_offset_text().get_text() == ""
        labels = [float(label.get_text()) for label in axes.get_yticklabels()]
        assert labels == pytest.approx(axes.get_yticks(), abs=1e-9)


def test_fourteen_learners_stay_within_their_group_and_apart():
    table = invented.metrics([f"own{k}" for k in range(14)], weightings=["W1", "W2", "W3"])
    score, stability = scores.draw(Tables(metrics=table)).axes
    assert score.get_position().y0 > stability.get_position().y1
    x = np.array([c.lines[0].get_xdata() for c in score.containers])
    assert abs(x - [0, 1, 2]).max() < 0.45
    pixels = score.transData.transform(np.column_stack([x[:, 0], x[:, 0]]))[:, 0]
    assert np.diff(pixels).min() > 4.6 / 72 * score.figure.dpi
