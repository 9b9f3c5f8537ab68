import pytest

from figures.kinds import tasks
from figures.tables import Tables
from probe.tables.summary import mean_accuracies
from tests.figures import invented, seen

LEARNERS = ["finetune", "ewc", "ewc-s"]
ROWS = invented.rows([*LEARNERS, "offline"], tasks=3)


def test_each_panel_holds_every_learner_from_the_task_on_and_the_last_their_averages():
    figure = tasks.draw(Tables(rows=ROWS))
    assert seen.titles(figure) == ["Task 1", "Task 2", "Task 3", "Average of tasks so far"]
    *panels, last = figure.axes
    for k, name in enumerate(LEARNERS):
        R = 100 * mean_accuracies(ROWS)[name].values
        for j, axes in enumerate(panels, start=1):
            steps, values = seen.points(axes.lines[k]).T
            assert steps.tolist() == list(range(j, 4))
            assert values == pytest.approx(R[j:, j - 1])
            assert axes.lines[k].get_color() == seen.color(name)
        steps, values = seen.points(last.lines[k]).T
        assert steps.tolist() == [1, 2, 3]
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, (R[3, 0] + R[3, 1] + R[3, 2]) / 3]
        assert values == pytest.approx(expected)


@pytest.mark.parametrize(
    ("count", "places"), [(20, range(1, 21)), (21, (1, 5, 10, 15, 20))], ids=["20", "21"]
)
def test_up_to_twenty_tasks_have_a_panel_each(count, places):
    figure = tasks.draw(Tables(rows=invented.rows(["er"], tasks=count, orders=1, seeds=1)))
    assert seen.titles(figure) == [*(f"Task {j}" for j in places), "Average of tasks so far"]
    assert figure.get_figheight() < 9.5
