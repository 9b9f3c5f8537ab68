import numpy as np
import pytest

from figures.kinds import bias
from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented, seen

FEATURES = ["conv1", "conv2", "output"]
TRAINED = "output (as\N{NO-BREAK SPACE}trained)"


def test_each_panel_is_the_f1_of_a_feature_by_position_and_each_architecture_has_rows_of_its_own():
    own = {"geppnet": ["som", "output"]}
    learners = ["finetune", "geppnet", "er", "offline"]
    summary = summarize(invented.rows(learners, FEATURES, tasks=4, own=own))
    panels = bias.draw(Tables(summary=summary[::-1])).axes
    assert [axes.get_title() for axes in panels] == ["conv1", "conv2", TRAINED, "som", TRAINED]
    assert [axes.get_ylabel() for axes in panels] == ["ER, Finetune", "", "", "GeppNet", ""]
    assert [axes.get_subplotspec().rowspan.start for axes in panels] == [0, 0, 0, 1, 1]
    assert [axes.get_subplotspec().colspan.start for axes in panels] == [0, 1, 2, 0, 1]
    architectures = [["er", "finetune"]] * 3 + [["geppnet"]] * 2
    for axes, names, depth in zip(panels, architectures, [1, 2, 3, 1, 2], strict=True):
        for name, drawn in zip(names, axes.containers, strict=True):
            rows = [r for r in summary if (r.learner, r.measure, r.depth) == (name, "f1", depth)]
            assert seen.heights(drawn) == pytest.approx([100 * r.mean for r in rows])
            assert np.round(seen.points(drawn)[:, 0]).tolist() == [1, 2, 3, 4]
            assert seen.bars(drawn) == pytest.approx(seen.spread(rows))
            assert drawn.lines[0].get_color() == seen.color(name)
