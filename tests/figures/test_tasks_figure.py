import numpy as np
import pytest

from figures import appearance as looks
from figures.accuracies import Accuracies
from figures.kinds import tasks
from probe.tables.summary import mean_accuracies

LEARNERS = ["finetune", "ewc", "ewc-s"]


def test_each_panel_holds_every_learner_from_the_task_on(study):
    rows = study([*LEARNERS, "offline"], ["output"], tasks=4)
    *panels, _ = tasks.draw(Accuracies.of(rows)).axes
    assert [axes.get_title() for axes in panels] == ["Task 1", "Task 2", "Task 3", "Task 4"]
    for j, axes in enumerate(panels, start=1):
        for name, line in zip(LEARNERS, axes.lines, strict=True):
            R = mean_accuracies(rows)[name].values
            assert list(line.get_xdata()) == list(range(j, 5))
            assert np.asarray(line.get_ydata(), float) == pytest.approx(100 * R[j:, j - 1])
            assert line.get_color() == looks.of_learners([name])[name].color


def test_the_last_panel_is_the_average_of_the_tasks_so_far(study):
    rows = study(LEARNERS, ["output"], tasks=3)
    *_, last = tasks.draw(Accuracies.of(rows)).axes
    for name, line in zip(LEARNERS, last.lines, strict=True):
        R = 100 * mean_accuracies(rows)[name].values
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, (R[3, 0] + R[3, 1] + R[3, 2]) / 3]
        assert list(line.get_xdata()) == [1, 2, 3]
        assert np.asarray(line.get_ydata(), float) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("count", "titles"),
    [
        (20, [f"Task {j}" for j in range(1, 21)]),
        (21, [f"Task {j}" for j in (1, 5, 10, 15, 20)]),
    ],
)
def test_up_to_twenty_tasks_have_a_panel_each(count, titles, study):
    figure = tasks.draw(Accuracies.of(study(["er"], ["output"], tasks=count, orders=1, seeds=1)))
    assert [axes.get_title() for axes in figure.axes] == [*titles, "Average of tasks so far"]
    assert figure.get_figheight() < 9.5


@pytest.mark.parametrize(("count", "marked"), [(10, [7, 8, 9, 10]), (20, [7, 10, 15, 20])])
def test_markers_stand_where_a_line_starts_and_at_the_ticks(count, marked, study):
    figure = tasks.draw(Accuracies.of(study(["er"], ["output"], tasks=count, orders=1, seeds=1)))
    (line,) = figure.axes[6].lines
    assert figure.axes[6].get_title() == "Task 7"
    assert [line.get_xdata()[k] for k in line.get_markevery()] == marked


def test_panels_share_the_y_axis_and_the_learners_are_named_once(study):
    figure = tasks.draw(Accuracies.of(study(LEARNERS, ["output"], tasks=3)))
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Finetune", "EWC", "EWC-S"]
