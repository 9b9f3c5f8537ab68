import numpy as np
import pytest

from figures.kinds import depth
from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented, seen

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["finetune", "er", "offline"]
OWN = {"pathnet": ["layer1", "layer2", "layer3", "output"], "fel": ["hidden", "output"]}
SUMMARY = summarize(invented.rows(LEARNERS, FEATURES, seeds=3))
MIXED = ["finetune", "pathnet", "ewc", "fel", "offline"]
MIXED = summarize(invented.rows(MIXED, FEATURES, seeds=3, own=OWN))


def pra(summary, learner):
    return [row for row in summary if row.learner == learner and row.measure == "pra"]


def level(axes):
    (line,) = [line for line in axes.lines if line.get_label() == "Offline"]
    return np.asarray(line.get_ydata(), float)


@pytest.fixture(scope="module")
def axes():
    (axes,) = depth.draw(Tables(summary=SUMMARY[::-1])).axes
    return axes


def test_lines_and_bars_are_the_tables_means_and_deviations_side_by_side(axes):
    for learner, drawn in zip(["er", "finetune"], axes.containers, strict=True):
        rows = pra(SUMMARY, learner)
        assert seen.heights(drawn) == pytest.approx([100 * row.mean for row in rows])
        assert seen.bars(drawn) == pytest.approx(seen.spread(rows))
        assert drawn.lines[0].get_color() == seen.color(learner)
    left, right = (seen.points(drawn)[:, 0] for drawn in axes.containers)
    assert right - left == pytest.approx(np.full(3, 0.08))
    assert (left + right) / 2 == pytest.approx(np.array([1, 2, 3]))


def test_features_are_named_in_order_of_depth(axes):
    assert seen.tick_names(axes) == FEATURES
    assert axes.get_xticks().tolist() == [1, 2, 3]


def test_offline_is_a_level_at_its_mean_with_a_band_of_one_deviation(axes):
    (row,) = pra(SUMMARY, "offline")
    assert level(axes) == pytest.approx([100 * row.mean] * 2)
    (band,) = axes.patches
    assert band.get_y() == pytest.approx(100 * (row.mean - row.std))
    assert band.get_height() == pytest.approx(200 * row.std)


def test_one_seed_has_no_band():
    (axes,) = depth.draw(Tables(summary=summarize(invented.rows(LEARNERS, FEATURES, seeds=1)))).axes
    assert not axes.patches


def test_nothing_is_drawn_of_the_output_alone():
    assert depth.draw(Tables(summary=[row for row in SUMMARY if row.depth == 3])) is None
    output = [row for row in MIXED if row.learner != "fel" or row.feature == "output"]
    assert seen.titles(depth.draw(Tables(summary=output))) == ["Finetune, EWC", "PathNet"]


def test_learners_with_networks_of_their_own_have_panels_of_their_own():
    figure = depth.draw(Tables(summary=MIXED))
    assert seen.titles(figure) == ["Finetune, EWC", "PathNet", "FEL"]
    assert [seen.tick_names(axes) for axes in figure.axes] == [FEATURES, *OWN.values()]
    ticks = [axes.get_xticks().tolist() for axes in figure.axes]
    assert ticks == [[1, 2, 3], [1, 2, 3, 4], [1, 2]]
    found = [container for axes in figure.axes for container in axes.containers]
    drawn = {each.lines[0].get_color(): seen.heights(each) for each in found}
    for learner in ["finetune", "ewc", *OWN]:
        expected = [100 * row.mean for row in pra(MIXED, learner)]
        assert drawn.pop(seen.color(learner)) == pytest.approx(expected)
    assert not drawn
    (row,) = pra(MIXED, "offline")
    assert all(level(axes) == pytest.approx([100 * row.mean] * 2) for axes in figure.axes)
    assert seen.legend(figure) == ["Finetune", "PathNet", "EWC", "FEL", "Offline"]
