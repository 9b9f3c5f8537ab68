import math
from dataclasses import replace

import pytest
from matplotlib.patches import Rectangle

from figures.cells import HATCHED
from figures.kinds import layers
from figures.tables import Tables
from tests.figures import invented, papers, seen

FEATURES, LEARNERS = papers.FEATURES, ["finetune", "ewc"]
NAMES = ["Finetune", "EWC"]
ROWS = [row for row in papers.tables().layers if row.learner in LEARNERS]
STARTS = [row for row in papers.tables().starts if row.learner in LEARNERS]
OF_FIRST = [(0, place) for place in range(4)]


def drawn(rows, starts=()):
    return layers.draw(Tables(layers=rows, starts=starts))


def cells(axes):
    """Return (left end, place from 1 or None for all, value) of each colored part of a panel."""
    (mesh,) = [c for c in axes.collections if c.get_gid() != HATCHED]
    corners = [path.vertices for path in mesh.get_paths()]
    bottom = max(box[:, 1].max() for box in corners)
    return [
        (
            float(box[:, 0].min()),
            None if box[:, 1].max() == bottom else math.floor(box[:, 1].min()) + 1,
            float(value),
        )
        for box, value in zip(corners, mesh.get_array(), strict=True)
    ]


def hatched(axes):
    """Return (feature from 0, place from 0) of each hatched cell; all tasks are the last place."""
    found = [c for c in axes.collections if c.get_gid() == HATCHED]
    assert all(each.get_hatch() for each in found)
    lowest = [path.vertices.min(axis=0) for each in found for path in each.get_paths()]
    return sorted((math.floor(x), math.floor(y)) for x, y in lowest)


def frames(axes):
    return [(p.get_x(), p.get_width()) for p in axes.patches if isinstance(p, Rectangle)]


@pytest.fixture(scope="module")
def figure():
    return drawn(ROWS, STARTS)


def test_cells_are_what_is_missing_and_halves_what_was_forgotten_and_never_learned(figure):
    panels = seen.titled(figure)
    keys = [(name, readout) for readout in layers.READOUTS for name in LEARNERS]
    titles = [f"{name}, {readout}" for readout in layers.READOUTS for name in NAMES]
    assert [axes.get_title() for axes in panels] == titles
    value = {(r.learner, r.readout, r.feature, r.place, r.quantity): 100 * r.value for r in ROWS}
    for axes, (learner, readout) in zip(panels, keys, strict=True):
        quantities = ["missing"] if readout == "retrain" else ["forgotten", "never_learned"]
        expected = [
            (k + part / len(quantities), place, value[learner, readout, f, place, quantity])
            for k, f in enumerate(FEATURES)
            for place in [1, 2, 3, None]
            for part, quantity in enumerate(quantities)
        ]
        found = cells(axes)
        assert [place for _, place, _ in found] == [place for _, place, _ in expected]
        for column in (0, 2):
            own, other = ([cell[column] for cell in each] for each in (found, expected))
            assert own == pytest.approx(other, abs=0.04 if column == 0 else 1e-9)
        assert [int(t.get_text()) for t in axes.texts] == [round(v) for *_, v in expected]
        assert hatched(axes) == OF_FIRST
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
        assert len(cells(axes)) == 11
        assert hatched(axes) == frames(axes) == []
    assert seen.legend(found) == []


@pytest.mark.parametrize(
    ("learners", "features", "tasks"),
    [
        (["finetune", "ewc", "er"], ["conv1", "conv2", "conv3", "fc1", "fc2", "output"], 10),
        pytest.param(
            ["er"], [f"stage{k}.block.conv2" for k in range(6)], 13, marks=pytest.mark.slow
        ),
        pytest.param([f"my_own_{k}" for k in range(9)], FEATURES, 5, marks=pytest.mark.slow),
        pytest.param(["er"], [f"denseblock{k}" for k in range(30)], 20, marks=pytest.mark.slow),
    ],
    ids=["large", "long names", "nine learners", "deep"],
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
