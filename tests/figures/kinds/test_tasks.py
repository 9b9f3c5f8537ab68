import pytest

from probe.tables.summary import mean_accuracies
from tests.figures import papers, seen


def test_each_panel_holds_every_learner_from_the_task_on_and_the_last_their_averages():
    figure = papers.figure("tasks")
    assert seen.titles(figure) == ["Task 1", "Task 2", "Task 3", "Average of tasks so far"]
    *panels, last = figure.axes
    for k, name in enumerate(papers.LEARNERS):
        R = 100 * mean_accuracies(papers.rows())[name].values
        for j, axes in enumerate(panels, start=1):
            steps, values = seen.points(axes.lines[k]).T
            assert steps.tolist() == list(range(j, 4))
            assert values == pytest.approx(R[j:, j - 1])
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, (R[3, 0] + R[3, 1] + R[3, 2]) / 3]
        assert seen.points(last.lines[k])[:, 1] == pytest.approx(expected)
