import pandas as pd
import pytest
from matplotlib.colors import to_rgb

import figures
from figures.tables import StudyTables
from tests.figures import invented, seen

FEATURES = ["conv1", "conv2", "output"]
R = invented.rows(
    ["finetune", "er"],
    ["output"],
    tasks=4,
    seeds=3,
).query("metric == 'accuracy'")
COURSES = pd.concat(
    [
        invented.courses(
            ["finetune", "er"],
            FEATURES,
            steps=4,
            seeds=3,
        ),
        R,
    ]
)
LEVELS = invented.levels(
    FEATURES,
    steps=4,
    seeds=3,
)


FEW = COURSES[COURSES["tasks_seen"].isin([1, 4])]


def drawn(*rows):
    return figures.time(StudyTables(measurements=pd.concat(rows)))


def test_layers_are_lighter_and_thinner_the_deeper_with_those_of_joint_at_the_right():
    before = LEVELS[LEVELS["learner"] == "offline"].assign(tasks_seen=0, value=0.1)
    figure = drawn(COURSES, before, LEVELS)
    offline = LEVELS[LEVELS["learner"] == "offline"].groupby("feature")["value"].mean()
    for axes in figure.axes:
        dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
        ceilings = [line.get_ydata()[0] for line in dashed]
        assert ceilings == pytest.approx(list(100 * offline[FEATURES]))
    assert seen.legend(figure) == [*FEATURES, "Joint"]
    # So that none hides another, however close they lie.
    widths = [course.lines[0].get_linewidth() for course in figure.axes[0].containers]
    assert widths == sorted(set(widths), reverse=True)
    first, second = map(colors, figure.axes)
    assert first == second
    light = [sum(to_rgb(color)) for color in first]
    assert light == sorted(set(light))


def colors(axes):
    return [course.lines[0].get_color() for course in axes.containers]


def test_of_several_readouts_that_of_most_steps_is_drawn_and_linear_where_they_are_as_many():
    def other(rows, readout):
        return rows[rows["readout"] != ""].assign(readout=readout, value=0.5)

    for rows, readout in (
        ((other(COURSES, "knn"), COURSES), "linear"),
        ((other(FEW, "retrain"), COURSES), "linear"),
        ((FEW, other(COURSES, "ncm")), "ncm"),
    ):
        figure = drawn(*rows, LEVELS)
        assert (
            seen.note(figure)
            == f"Mean and 95 % interval over 3 seeds, readout {readout}"
        )
        flat = {round(h, 6) for h in seen.heights(figure.axes[0].containers[0])} == {50}
        assert flat == (readout != "linear")


def test_many_layers_have_a_color_bar_and_no_bars():
    names = [f"features.block{k}.conv" for k in range(12)]
    figure = drawn(
        invented.courses(["er"], names, steps=12), invented.levels(names, steps=12)
    )
    assert seen.note(figure) == "Mean over 2 seeds, readout linear"
    assert not any(course.has_yerr for course in figure.axes[0].containers)
    assert figure.axes[-1].get_ylabel() == "Layer, by depth"
    assert len(figure.axes[0].lines) == 24
    assert seen.text_faults(figure) + seen.hidden_data(figure) == []
