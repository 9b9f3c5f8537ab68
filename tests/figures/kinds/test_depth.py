import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

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


BOTH = invented.layers(["finetune", "er"], FEATURES, readouts=("retrain", "linear"))
LAYERS = [
    replace(row, value=row.value - 0.1, low=row.low - 0.2, high=row.high - 0.08)
    if (row.learner, row.quantity) == ("er", "accuracy")
    else row
    for row in BOTH
]


def at_all_tasks(quantity, feature, learner="er"):
    (row,) = [
        r
        for r in LAYERS
        if (r.learner, r.readout, r.quantity, r.feature, r.place)
        == (learner, "retrain", quantity, feature, None)
    ]
    return row


def labelled(axes):
    return {line.get_label(): np.asarray(line.get_xydata(), float) for line in axes.lines}


def with_layers(layers=LAYERS, starts=(), summary=SUMMARY):
    return depth.draw(Tables(summary=summary, layers=layers, starts=starts))


def test_floor_ceiling_and_chance_are_drawn_by_depth():
    figure = with_layers()
    drawn = labelled(figure.axes[0])
    for quantity, label in (("floor", "Floor (untrained)"), ("ceiling", "Ceiling (offline)")):
        expected = [[k, 100 * at_all_tasks(quantity, f).value] for k, f in enumerate(FEATURES, 1)]
        assert drawn[label] == pytest.approx(np.array(expected))
    assert drawn["Chance"][:, 1] == pytest.approx([10, 10])
    # The ceiling at the output is what Offline's level was.
    assert "Offline" not in drawn
    names = ["ER", "Finetune", "Ceiling (offline)", "Floor (untrained)", "Chance"]
    assert sorted(seen.legend(figure)) == sorted(names)
    assert seen.text_faults(figure) == seen.hidden_data(figure) == []


def test_what_was_not_measured_is_not_drawn():
    some = with_layers([row for row in LAYERS if row.quantity not in ("floor", "chance")])
    assert {"Floor (untrained)", "Chance"}.isdisjoint(labelled(some.axes[0]))
    linear = with_layers([row for row in LAYERS if row.readout == "linear"])
    assert seen.legend(linear) == seen.legend(with_layers(()))
    assert "Offline" in labelled(linear.axes[0])


def test_bars_are_the_intervals_of_the_table_and_the_legend_says_so():
    figure = with_layers()
    assert seen.note(figure) == "Mean over 3 seeds, 95 % interval (of seeds and test set)"
    for learner, drawn in zip(["finetune", "er"], figure.axes[0].containers, strict=True):
        rows = [at_all_tasks("accuracy", feature, learner) for feature in FEATURES]
        assert seen.heights(drawn) == pytest.approx([100 * row.value for row in rows])
        ends = np.array([[100 * row.low, 100 * row.high] for row in rows])
        assert seen.bars(drawn) == pytest.approx(ends)


@pytest.mark.parametrize("lost", ["table", "learner", "intervals"])
def test_bars_are_of_one_kind_so_where_an_interval_lacks_they_are_deviations(lost):
    layers = {
        "table": [],
        "learner": [row for row in LAYERS if row.learner == "er"],
        "intervals": [replace(row, low=math.nan, high=math.nan) for row in LAYERS],
    }[lost]
    figure = with_layers(layers)
    assert seen.note(figure) == "Mean ± standard deviation over 3 seeds"
    for learner, drawn in zip(["finetune", "er"], figure.axes[0].containers, strict=True):
        assert seen.bars(drawn) == pytest.approx(seen.spread(pra(SUMMARY, learner)))
    # Nor has the ceiling a band of another kind.
    assert not [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]


def test_where_forgetting_starts_there_is_one_ring():
    def rings(starts):
        (axes,) = with_layers(starts=starts).axes
        return [
            tuple(line.get_xydata()[0])
            for line in axes.lines
            if line.get_label() == "Forgetting starts"
        ]

    at = 100 * at_all_tasks("accuracy", "conv2").value
    assert rings(invented.starts(["er"], "conv2")) == [pytest.approx((2.04, at))]
    assert len(rings(invented.starts(["er", "finetune"], "output"))) == 2
    assert rings(invented.starts(["er"], "")) == []
    assert rings(invented.starts(["er"], "conv2", readouts=("linear",))) == []
    assert rings(invented.starts(["er"], "of another network")) == []
    assert "Forgetting starts" in seen.legend(with_layers(starts=invented.starts(["er"], "conv2")))
    assert "Forgetting starts" not in seen.legend(with_layers())


def test_the_levels_have_no_lines_of_their_own():
    """A study's summary has all features of `untrained` and `offline`."""
    names = [*LEARNERS, "untrained"]
    rows = summarize(
        [*invented.rows(names, FEATURES), *invented.levels(FEATURES, readout="retrain")]
    )
    assert len(with_layers(summary=rows).axes[0].containers) == 2
