from dataclasses import replace

import numpy as np
import pytest

from figures.kinds import bias
from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented, seen

FEATURES = ["conv1", "conv2", "output"]
TRAINED = "output (as\N{NO-BREAK SPACE}trained)"


@pytest.fixture(scope="module")
def summary():
    learners = ["finetune", "geppnet", "er", "offline"]
    own = {"geppnet": ["som", "output"]}
    return summarize(invented.rows(learners, FEATURES, tasks=4, own=own))


@pytest.fixture(scope="module")
def panels(summary):
    return bias.draw(Tables(summary=summary[::-1])).axes


def test_each_panel_holds_the_f1_of_its_feature_by_place(panels, summary):
    networks = [["er", "finetune"]] * 3 + [["geppnet"]] * 2
    for axes, names, depth in zip(panels, networks, [1, 2, 3, 1, 2], strict=True):
        for name, drawn in zip(names, axes.containers, strict=True):
            rows = [r for r in summary if (r.learner, r.measure, r.depth) == (name, "f1", depth)]
            assert seen.heights(drawn) == pytest.approx([100 * r.mean for r in rows])
            assert np.round(seen.points(drawn)[:, 0]).tolist() == [1, 2, 3, 4]
            assert seen.bars(drawn) == pytest.approx(seen.spread(rows))
            assert drawn.lines[0].get_color() == seen.color(name)


def test_a_network_of_its_own_has_rows_of_its_own(panels):
    """A figure's grid has as many columns as give the fewest rows: here 3, then 2, of 3."""
    assert [axes.get_title() for axes in panels] == ["conv1", "conv2", TRAINED, "som", TRAINED]
    assert [axes.get_ylabel() for axes in panels] == ["ER, Finetune", "", "", "GeppNet", ""]
    cells = [axes.get_subplotspec() for axes in panels]
    rows, columns = ([getattr(c, span).start for c in cells] for span in ("rowspan", "colspan"))
    assert (rows, columns) == ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])


def test_floor_and_ceiling_have_no_line(panels, summary):
    """They have F1 behind every feature, but no order."""
    levels = [
        replace(row, learner=name)
        for row in summary
        if row.learner == "er"
        for name in ("untrained", "offline")
    ]
    found = bias.draw(Tables(summary=[*levels, *summary[::-1]])).axes
    assert [len(axes.containers) for axes in found] == [len(axes.containers) for axes in panels]
    assert bias.draw(Tables(summary=levels)) is None
