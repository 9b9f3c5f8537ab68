"""Bars of causes are the numbers of the table, and stand on each other."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer

import figures
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, papers, seen

FEATURES = ["conv1", "conv2", "output"]
TASKS = (1, 2, 3, None)  # the tasks before the last, and their mean
TABLE = invented.causes(["er", "finetune"], FEATURES, tasks=4)


def value_of(learner):
    """Return the values in points by feature, task position and quantity."""
    of_learner = invented.rows_by(TABLE, "learner")[(learner,)]
    return {(r.feature, r.task_position, r.quantity): 100 * r.value for r in of_learner}


def boxes(axes):
    """Return the bottom and top of each bar, by piece and then from left to right."""
    bars = [c for c in axes.containers if isinstance(c, BarContainer)]
    ends = [sorted((b.get_x(), b.get_y(), b.get_y() + b.get_height()) for b in c) for c in bars]
    return np.array(ends)[..., 1:]


@pytest.mark.parametrize("learner", ["er", "finetune"])
def test_pieces_are_stacked_away_from_zero_and_add_up_to_what_was_forgotten(learner):
    figure, values = figures.causes(StudyTables(causes=TABLE[::-1])), value_of(learner)
    axes = figure.axes[["finetune", "er"].index(learner)]
    names = [*((f, "attributed") for f in FEATURES), ("", "competition")]
    expected = np.array([[values[f, task, quantity] for task in TASKS] for f, quantity in names])
    assert (expected < 0).any()
    bottom, top = np.moveaxis(boxes(axes), -1, 0)
    assert top - bottom == pytest.approx(expected)
    for signed in (expected.clip(min=0), expected.clip(max=0)):
        assert top[signed != 0] == pytest.approx(signed.cumsum(axis=0)[signed != 0])
    (marks,) = (line for line in axes.lines if line.get_marker() == "D")
    marked = seen.points(marks)
    assert marked[marked[:, 0].argsort(), 1] == pytest.approx(expected.sum(axis=0))


def test_pieces_of_the_mean_have_their_intervals_in_the_colors_of_the_bars():
    figure = figures.causes(StudyTables(causes=TABLE))
    rows = invented.rows_by(TABLE, "learner", "quantity", "task_position")
    of_mean = [*rows["er", "attributed", None], *rows["er", "competition", None]]
    bars, dots = (figure.axes[0].containers[part] for part in (slice(4), slice(4, None)))
    for drawn, row in zip(dots, of_mean, strict=True):
        seen.check_layers(drawn, [row])
    colors = [to_hex(c[0].get_facecolor()) for c in bars[:-1]]
    assert colors == [drawn.lines[0].get_color() for drawn in dots[:-1]]


def test_twelve_layers_and_ten_tasks_fit_and_without_causes_nothing_is_drawn():
    names = [f"backbone.features.block{k}.conv" for k in range(12)]
    learners = ["finetune", "er", "my_own_learner_with_samples"]
    rows = invented.rows(learners, names, tasks=11, orders=1)
    table = invented.causes(learners, names, tasks=11)
    figure = figures.causes(StudyTables(causes=table, measurements=rows))
    assert seen.text_faults(figure) + seen.hidden_data(figure) == []
    for nothing in (table[:0], table.assign(score="loss")):
        with pytest.raises(InputError, match=r"figures\.causes"):
            figures.causes(StudyTables(causes=nothing, measurements=rows))
    caption = papers.caption("causes", StudyTables(causes=table, measurements=rows))
    assert "adds a standard error of up to 0.1 points" in caption
