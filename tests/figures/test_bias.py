import numpy as np
import pytest

from figures import bias
from probe.summary import summarise

FEATURES = ["conv1", "conv2", "output"]


@pytest.fixture
def summary(study):
    return summarise(study(["finetune", "er", "offline"], FEATURES, tasks=4, seeds=2))


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
    figure = bias.draw(summarise(study(["er"], FEATURES, seeds=1)))
    assert not any(drawn.has_yerr for axes in figure.axes for drawn in axes.containers)
