import numpy as np
import pytest

from figures.kinds import bias
from probe.tables.summary import summarize

FEATURES = ["conv1", "conv2", "output"]


@pytest.fixture
def summary(study):
    return summarize(study(["finetune", "er", "offline"], FEATURES, tasks=4, seeds=2))


def test_each_panel_holds_the_f1_of_its_feature_by_place(summary):
    panels = bias.draw(summary).axes
    for depth, axes in enumerate(panels, start=1):
        for learner, drawn in zip(["finetune", "er"], axes.containers, strict=True):
            rows = [r for r in summary if (r.learner, r.measure, r.depth) == (learner, "f1", depth)]
            mean, std = (100 * np.array([getattr(r, key) for r in rows]) for key in ("mean", "std"))
            line, _, (bars,) = drawn.lines
            assert np.asarray(line.get_ydata(), float) == pytest.approx(mean)
            assert [round(x) for x in line.get_xdata()] == [1, 2, 3, 4]
            ends = np.array([segment[:, 1] for segment in bars.get_segments()])
            assert ends == pytest.approx(np.column_stack([mean - std, mean + std]))


def test_panels_are_titled_by_feature_and_the_last_as_the_trained_model(summary):
    titles = [axes.get_title() for axes in bias.draw(summary[::-1]).axes]
    assert titles == ["conv1", "conv2", "output (as\N{NO-BREAK SPACE}trained)"]


def test_panels_share_the_y_axis_and_name_the_learners_once(summary):
    figure = bias.draw(summary)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Finetune", "ER"]


def test_one_seed_has_no_bars(study):
    figure = bias.draw(summarize(study(["er"], FEATURES, seeds=1)))
    assert not any(drawn.has_yerr for axes in figure.axes for drawn in axes.containers)


def test_a_network_of_its_own_has_rows_of_its_own(study):
    """A figure's grid has as many columns as give the fewest rows: here 3, then 2, of 3."""
    own = {"geppnet": ["som", "output"]}
    learners = ["finetune", "geppnet", "er", "offline"]
    summary = summarize(study(learners, FEATURES, tasks=4, own=own))
    panels = bias.draw(summary).axes
    trained = "output (as\N{NO-BREAK SPACE}trained)"
    assert [axes.get_title() for axes in panels] == ["conv1", "conv2", trained, "som", trained]
    assert [axes.get_ylabel() for axes in panels] == ["Finetune, ER", "", "", "GeppNet", ""]
    places = [axes.get_subplotspec() for axes in panels]
    rows, columns = ([getattr(p, span).start for p in places] for span in ("rowspan", "colspan"))
    assert (rows, columns) == ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])
    assert len({axes.get_ylim() for axes in panels}) == 1
    networks = [["finetune", "er"]] * 3 + [["geppnet"]] * 2
    depths = [1, 2, 3, 1, 2]
    for axes, names, depth in zip(panels, networks, depths, strict=True):
        for name, drawn in zip(names, axes.containers, strict=True):
            rows = [r for r in summary if (r.learner, r.measure, r.depth) == (name, "f1", depth)]
            heights = np.asarray(drawn.lines[0].get_ydata(), float)
            assert heights == pytest.approx([100 * r.mean for r in rows])
