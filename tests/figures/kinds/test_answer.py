"""The figure of the answer: its marks are the numbers of the record."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import figures
from figures.tables import StudyTables
from probe.answers.study import answers
from probe.tables.table_file import all_tables
from tests.figures import invented, seen

FEATURES = ["conv1", "hidden", "output"]
LEARNERS = ["finetune", "er"]


def tables():
    return {
        "causes": invented.causes(LEARNERS, FEATURES),
        "layers": invented.layers(
            LEARNERS,
            FEATURES,
            readouts=("linear",),
        ),
        "measurements": invented.rows(LEARNERS, FEATURES),
    }


@pytest.mark.parametrize("names", [LEARNERS, LEARNERS[:1]])
def test_dots_are_what_is_still_there_between_untrained_and_joint(names):
    figure = figures.answer(StudyTables(**tables()), learners=names)
    of_learner = {a.method: a for a in answers(all_tables(**tables()))}
    panels = iter(figure.axes)
    for name in names:
        _, held = next(panels), next(panels)
        layers = of_learner[name].layers
        dots = [x for x in held.lines if x.get_marker() == "o"]
        expected = [100 * line.held.value for line in layers if line.held]
        assert [dot.get_xdata()[0] for dot in dots] == pytest.approx(expected)
        solid = [x for x in held.lines if x.get_linestyle() == "-" and x not in dots]
        starts = [100 * line.untrained for line in layers if line.joint is not None]
        assert [x.get_xdata()[0] for x in solid] == pytest.approx(starts)
        ends = [100 * line.joint for line in layers if line.joint is not None]
        assert [x.get_xdata()[1] for x in solid] == pytest.approx(ends)
        hollow = [dot.get_markerfacecolor() == "white" for dot in dots]
        assert hollow == [line.below_untrained for line in layers if line.held]
        ticks = [x.get_xdata()[0] for x in held.lines if x.get_marker() == "|"]
        learned = [line for line in layers if line.never_learned]
        assert ticks == pytest.approx(
            [100 * (line.joint - line.never_learned.value) for line in learned]
        )
    assert seen.text_faults(figure) + seen.hidden_data(figure) == []


def test_bars_and_their_intervals_are_what_each_layer_accounts_for():
    figure = figures.answer(StudyTables(**tables()))
    of_learner = {a.method: a for a in answers(all_tables(**tables()))}
    for name, panel in zip(LEARNERS, figure.axes[::2], strict=True):
        costs = [line.cost for line in of_learner[name].layers if line.cost]
        widths = [bar.get_width() for bar in panel.patches]
        assert widths == pytest.approx([100 * cost.value for cost in costs])
        drawn = []
        for collection in panel.collections:
            for (low, _), (high, _) in collection.get_segments():
                drawn.append((low, high))
        expected = [(100 * cost.low, 100 * cost.high) for cost in costs]
        assert np.array(drawn) == pytest.approx(np.array(expected))
    low, high = drawn[-1]
    assert low + high != pytest.approx(2 * widths[-1])


def test_axes_that_share_theirs_with_others_are_drawn_on():
    _, (_, axes) = plt.subplots(1, 2, sharex=True)
    assert figures.answer(StudyTables(**tables()), axes, panel=3) is axes


def test_without_causes_one_panel_a_method_shows_what_is_still_there():
    only_layers = {**tables(), "causes": invented.causes(LEARNERS, FEATURES)[:0]}
    assert len(figures.answer(StudyTables(**only_layers)).axes) == len(LEARNERS)
