import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from figures import appearance as looks
from figures.kinds import depth
from probe.tables.summary import summarize

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["finetune", "er", "offline"]


@pytest.fixture
def summary(study):
    return summarize(study(LEARNERS, FEATURES, seeds=3))


def bars(container: ErrorbarContainer):
    return np.array([segment[:, 1] for segment in container.lines[2][0].get_segments()])


def test_lines_and_bars_are_the_tables_means_and_deviations(summary):
    (axes,) = depth.draw(summary).axes
    assert len(axes.containers) == 2
    for learner, drawn in zip(["finetune", "er"], axes.containers, strict=True):
        rows = [r for r in summary if r.learner == learner and r.measure == "pra"]
        mean, std = (100 * np.array([getattr(r, key) for r in rows]) for key in ("mean", "std"))
        line = drawn.lines[0]
        assert np.asarray(line.get_ydata(), float) == pytest.approx(mean)
        assert [round(x) for x in line.get_xdata()] == [1, 2, 3]
        assert bars(drawn) == pytest.approx(np.column_stack([mean - std, mean + std]))
        assert line.get_color() == looks.of_learners([learner])[learner].color


def test_features_are_named_in_order_of_depth(summary):
    (axes,) = depth.draw(summary[::-1]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == FEATURES
    assert axes.get_xticks().tolist() == [1, 2, 3]


def test_offline_is_a_level_at_its_mean_with_a_band_of_one_deviation(summary):
    (axes,) = depth.draw(summary).axes
    (row,) = [r for r in summary if r.learner == "offline" and r.measure == "pra"]
    (level,) = [line for line in axes.lines if line.get_label() == "Offline"]
    assert np.asarray(level.get_ydata(), float) == pytest.approx([100 * row.mean] * 2)
    assert level.get_xdata() == [0, 1]
    assert level.get_linestyle() == "--"
    (band,) = axes.patches
    assert band.get_y() == pytest.approx(100 * (row.mean - row.std))
    assert band.get_height() == pytest.approx(200 * row.std)


def test_one_seed_has_neither_bars_nor_a_band(study):
    (axes,) = depth.draw(summarize(study(LEARNERS, FEATURES, seeds=1))).axes
    assert not any(container.has_yerr for container in axes.containers)
    assert not axes.patches


def test_points_that_coincide_are_drawn_side_by_side(summary):
    (axes,) = depth.draw(summary).axes
    finetune, er = (np.asarray(c.lines[0].get_xdata(), float) for c in axes.containers)
    assert er - finetune == pytest.approx(np.full(3, 0.08))
    assert (finetune + er) / 2 == pytest.approx(np.array([1, 2, 3]))


def test_nothing_is_drawn_of_the_output_alone(summary) -> None:
    last = max(row.depth for row in summary)
    assert depth.draw([row for row in summary if row.depth == last]) is None
    assert depth.draw([row for row in summary if row.depth >= last - 1]) is not None


OWN = {"pathnet": ["layer1", "layer2", "layer3", "output"], "fel": ["hidden", "output"]}


@pytest.fixture
def mixed(study):
    learners = ["finetune", "pathnet", "ewc", "fel", "offline"]
    return summarize(study(learners, FEATURES, seeds=3, own=OWN))


def test_learners_with_networks_of_their_own_have_panels_of_their_own(mixed):
    panels = depth.draw(mixed).axes
    features = [FEATURES, *OWN.values()]
    assert [axes.get_title() for axes in panels] == ["Finetune, EWC", "PathNet", "FEL"]
    assert [[t.get_text() for t in axes.get_xticklabels()] for axes in panels] == features
    assert [axes.get_xticks().tolist() for axes in panels] == [[1, 2, 3], [1, 2, 3, 4], [1, 2]]
    assert len({axes.get_ylim() for axes in panels}) == 1
    drawn = {}
    for axes in panels:
        for container in axes.containers:
            line = container.lines[0]
            drawn[line.get_color()] = np.asarray(line.get_ydata(), float)
    for learner, look in looks.of_learners(["finetune", "ewc", *OWN]).items():
        rows = [r for r in mixed if r.learner == learner and r.measure == "pra"]
        assert drawn.pop(look.color) == pytest.approx([100 * r.mean for r in rows])
    assert not drawn


def test_offline_is_the_same_level_in_every_panel_and_once_in_the_legend(mixed):
    figure = depth.draw(mixed)
    (row,) = [r for r in mixed if r.learner == "offline" and r.measure == "pra"]
    for axes in figure.axes:
        (level,) = [line for line in axes.lines if line.get_label() == "Offline"]
        assert np.asarray(level.get_ydata(), float) == pytest.approx([100 * row.mean] * 2)
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["Finetune", "PathNet", "EWC", "FEL", "Offline"]


def test_a_network_of_which_the_output_alone_was_looked_at_has_no_panel(mixed):
    output = [r for r in mixed if r.learner != "fel" or r.feature == "output"]
    assert [axes.get_title() for axes in depth.draw(output).axes] == ["Finetune, EWC", "PathNet"]
    rows = [r for r in output if r.learner not in ("pathnet", "fel")]
    (axes,) = depth.draw(rows).axes
    assert axes.get_title() == ""
