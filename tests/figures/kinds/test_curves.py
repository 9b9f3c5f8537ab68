import numpy as np
import pytest

from probe.tables.summary import mean_accuracies
from tests.figures import papers, seen


def test_a_curve_is_a_column_of_r_split_where_it_is_learned_and_black_is_the_average():
    panels = seen.titled(papers.figure("curves"))
    assert [p.get_title() for p in panels] == ["Finetune", "Cumulative", "mine", "yours", "EWC"]
    for learner, axes in zip(papers.LEARNERS, panels, strict=True):
        R = 100 * mean_accuracies(papers.rows())[learner].values
        *others, average = axes.lines
        for j in range(1, 4):
            before, after = (seen.points(line).T for line in others[2 * j - 2 : 2 * j])
            assert before == pytest.approx(np.array([range(j + 1), R[: j + 1, j - 1]]))
            assert after == pytest.approx(np.array([range(j, 4), R[j:, j - 1]]))
        assert average.get_color() == "black"
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, sum(R[3]) / 3]
        assert pytest.approx(np.array([[1, 2, 3], expected])) == seen.points(average).T
