import numpy as np
import pytest

from tests.figures import papers, seen

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
