import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import figures
from figures.cells import HATCHED
from figures.kinds import layers
from figures.tables import Tables
from tests.figures import invented, papers, seen

FEATURES, LEARNERS = papers.FEATURES, ["finetune", "ewc"]
ROWS = [row for row in papers.tables().layers if row.learner in LEARNERS]


def drawn(rows, starts):
    return figures.layers(Tables(layers=rows, starts=starts))


def lower_ends(axes, *, hatched):
    """Return the left and the upper end of each colored part, or hatched cell, of a panel."""
    found = [c for c in axes.collections if (c.get_gid() == HATCHED) == hatched]
    return np.array([p.vertices.min(axis=0) for each in found for p in each.get_paths()])


def frames(axes):
    return [(p.get_x(), p.get_width()) for p in axes.patches if isinstance(p, Rectangle)]


def test_cells_are_what_is_missing_and_halves_what_was_forgotten_and_never_learned():
    figure = drawn(ROWS, [row for row in papers.tables().starts if row.learner in LEARNERS])
    panels = seen.titled(figure)
    keys = [(name, readout) for readout in layers.READOUTS for name in LEARNERS]
    titles = [f"{name}, {readout}" for readout in layers.READOUTS for name in ("Finetune", "EWC")]
    assert [axes.get_title() for axes in panels] == titles
    value = {(r.learner, r.readout, r.feature, r.place, r.quantity): 100 * r.value for r in ROWS}
    for axes, (learner, readout) in zip(panels, keys, strict=True):
        quantities = ["missing"] if readout == "retrain" else ["forgotten", "never_learned"]
        x, y, points = np.transpose(
            [
                (k + part / len(quantities), row, value[learner, readout, f, place, quantity])
                for k, f in enumerate(FEATURES)
                for row, place in ((0, 1), (1, 2), (2, 3), (3 + layers.GAP, None))
                for part, quantity in enumerate(quantities)
            ]
        )
        assert lower_ends(axes, hatched=False) == pytest.approx(np.transpose([x, y]), abs=0.04)
        assert axes.collections[0].get_array().tolist() == pytest.approx(points.tolist())
        assert [int(t.get_text()) for t in axes.texts] == [round(v) for v in points]
        assert np.floor(lower_ends(axes, hatched=True)).tolist() == [[0, k] for k in range(4)]
        assert frames(axes) == [(1, 1)]
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
    said = " ".join(seen.legend(figure))
    for word in ("Halves", "unknown", "Forgetting starts (95 %)"):
        assert word in said
    assert [t.get_text() for t in panels[0].get_yticklabels()] == ["1", "2", "3", "all"]
    assert seen.tick_names(panels[2]) == FEATURES


def test_marks_are_left_out_where_there_is_no_reason_for_them():
    """The output is always measured at all steps, which is no reason to split the other layers."""
    inner = [r for r in ROWS if r.feature == "output" or r.quantity != "forgotten"]
    known = [r for r in inner if r.quantity != "retained"]
    lost = [r for r in known if (r.feature, r.place) != ("conv2", 3)]
    lost += [replace(r, value=math.nan) for r in known if (r.feature, r.place) == ("conv2", 3)]
    found = drawn(lost, invented.starts(["ewc"], ""))
    for axes in seen.titled(found):
        assert len(lower_ends(axes, hatched=False)) == 11
        assert len(lower_ends(axes, hatched=True)) == len(frames(axes)) == 0
    assert seen.legend(found) == []


@pytest.mark.parametrize(
    ("learners", "features", "tasks"),
    [
        (["finetune", "ewc", "er"], ["conv1", "conv2", "conv3", "fc1", "fc2", "output"], 10),
        pytest.param([f"my_own_{k}" for k in range(9)], FEATURES, 5, marks=pytest.mark.slow),
        pytest.param(["er"], [f"denseblock{k}" for k in range(30)], 20, marks=pytest.mark.slow),
    ],
    ids=["large", "nine learners", "deep"],
)
def test_it_fits_on_a_page_and_numbers_lie_within_their_cells(learners, features, tasks):
    """Also of three digits, in halves of the narrowest cells."""
    rows = invented.layers(learners, features, tasks=tasks, split=("linear",), **papers.BOTH)
    rows = [replace(r, value=-0.12) if r.quantity == "forgotten" else r for r in rows]
    found = drawn(rows, invented.starts(learners, features[1], **papers.BOTH))
    assert seen.text_faults(found) + seen.hidden_data(found) == []
    assert found.get_figwidth() <= 7 + 1e-9
    assert found.get_figheight() < 10
    for axes in (axes for axes in seen.titled(found) if axes.texts):
        boxes = [axes.transData.transform(p.vertices) for p in axes.collections[0].get_paths()]
        for box, text in zip(boxes, axes.texts, strict=True):
            room = text.get_window_extent()
            assert box[:, 0].min() - 1 <= room.x0 <= room.x1 <= box[:, 0].max() + 1
