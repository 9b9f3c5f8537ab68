import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from figures import missing
from figures.cells import HATCHED
from figures.kinds import layers
from figures.tables import Tables
from tests.figures import invented, seen

FEATURES = ["conv1", "conv2", "conv3", "output"]
LEARNERS = ["finetune", "ewc", "er"]
BOTH = {"readouts": ("retrain", "linear")}
ROWS = invented.layers(LEARNERS, FEATURES, tasks=5, split=("linear",), **BOTH)
STARTS = invented.starts(LEARNERS, "conv3", **BOTH)


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


def value_of(learner, readout, feature, place, quantity):
    key = (learner, readout, feature, place, quantity)
    (found,) = [
        100 * r.value for r in ROWS if (r.learner, r.readout, r.feature, r.place, r.quantity) == key
    ]
    return found


@pytest.fixture(scope="module")
def figure():
    return drawn(ROWS, STARTS)


def test_there_is_a_panel_for_each_learner_and_readout(figure):
    titles = [f"{name}, {readout}" for readout in layers.READOUTS for name in NAMES]
    assert [axes.get_title() for axes in seen.titled(figure)] == titles
    one = drawn([row for row in ROWS if row.readout == "linear"])
    assert [axes.get_title() for axes in seen.titled(one)] == NAMES


NAMES = ["Finetune", "EWC", "ER"]


def test_cells_are_what_is_missing_and_halves_what_was_forgotten_and_never_learned(figure):
    panels = seen.titled(figure)
    for learner, whole, split in zip(LEARNERS, panels[:3], panels[3:], strict=True):
        for axes, readout, quantities in (
            (whole, "retrain", ["missing"]),
            (split, "linear", ["forgotten", "never_learned"]),
        ):
            expected = [
                (k + part / len(quantities), place, value_of(learner, readout, f, place, quantity))
                for k, f in enumerate(FEATURES)
                for place in [1, 2, 3, 4, 5, None]
                for part, quantity in enumerate(quantities)
            ]
            found = cells(axes)
            assert [place for _, place, _ in found] == [place for _, place, _ in expected]
            for column in (0, 2):
                own, other = ([cell[column] for cell in each] for each in (found, expected))
                assert own == pytest.approx(other, abs=0.04 if column == 0 else 1e-9)
            assert [int(t.get_text()) for t in axes.texts] == [round(v) for *_, v in expected]


def test_the_output_alone_is_no_reason_to_split(figure):
    """It is always measured at all steps, and the other layers would seem to have forgotten."""
    inner = [r for r in ROWS if r.feature == "output" or r.quantity != "forgotten"]
    for axes in seen.titled(drawn(inner)):
        assert len(cells(axes)) == 24
    assert any("Halves" in entry for entry in seen.legend(figure))
    assert not any("Halves" in entry for entry in seen.legend(drawn(inner)))


def test_the_first_task_is_on_top_and_all_tasks_below(figure):
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["1", "2", "3", "4", "5", "all"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert seen.tick_names(seen.titled(figure)[3]) == FEATURES


def test_hatched_is_where_retained_is_not_identifiable_and_nowhere_else(figure):
    of_first = [(0, place) for place in range(6)]
    for axes in seen.titled(figure):
        assert hatched(axes) == of_first
    assert any("unknown" in entry for entry in seen.legend(figure))
    known = [replace(r, value=0.5) if r.quantity == "retained" else r for r in ROWS]
    one = [
        replace(r, value=math.nan)
        if (r.quantity, r.feature, r.place, r.learner) == ("retained", "conv2", 2, "er")
        else r
        for r in known
    ]
    at = [hatched(axes) for axes in seen.titled(drawn(one))]
    assert at == [[], [], [(1, 1)], [], [], [(1, 1)]]
    # What was not asked for is not unknown.
    for rows in (known, [r for r in ROWS if r.quantity != "retained"]):
        none = drawn(rows, STARTS)
        assert not any(map(hatched, seen.titled(none)))
        assert not any("unknown" in entry for entry in seen.legend(none))


def test_where_forgetting_starts_there_is_one_frame(figure):
    assert [frames(axes) for axes in seen.titled(figure)] == [[(2, 1)]] * 6
    nowhere = drawn(ROWS, invented.starts(LEARNERS, "", **BOTH))
    one = drawn(ROWS, invented.starts(["ewc"], "conv2"))
    assert [frames(axes) for axes in seen.titled(nowhere)] == [[]] * 6
    assert [frames(axes) for axes in seen.titled(one)] == [[], [(1, 1)], [], [], [], []]
    said = ["Forgetting starts (95 %)" in seen.legend(each) for each in (figure, nowhere, one)]
    assert said == [True, False, True]


def test_a_cell_that_was_not_measured_is_left_out_and_others_stay():
    lost = [r for r in ROWS if (r.feature, r.place) != ("conv2", 3)]
    lost += [replace(r, value=math.nan) for r in ROWS if (r.feature, r.place) == ("conv2", 3)]
    panels = seen.titled(drawn(lost))
    assert [len(cells(axes)) for axes in panels] == [23] * 3 + [46] * 3
    assert (1, 2) not in hatched(panels[0])


def test_one_scale_of_colors_from_zero_to_at_least_ten_points(figure):
    def clims(found):
        meshes = [c for axes in found.axes for c in axes.collections]
        return {m.get_clim() for m in meshes if isinstance(m, PolyCollection) and not m.get_hatch()}

    assert clims(figure) == {(0, 60)}
    little = [replace(r, value=r.value / 100) for r in ROWS if r.quantity == "missing"]
    assert clims(drawn(little)) == {(0, 10)}


@pytest.mark.parametrize("gone", ["offline", "untrained"])
def test_the_levels_themselves_have_no_panel(gone):
    rows = [replace(r, learner=gone) for r in ROWS if r.learner == "er"]
    assert drawn(rows) is None
    assert len(seen.titled(drawn([*ROWS, *rows]))) == 6


def test_without_what_is_missing_nothing_is_drawn():
    assert drawn([]) is None
    assert drawn([r for r in ROWS if r.quantity != "missing"]) is None
    assert drawn([replace(r, readout="knn") for r in ROWS]) is None


@pytest.mark.parametrize(
    ("learners", "features", "tasks", "seeds"),
    [
        (["finetune"], FEATURES, 5, 1),
        (["finetune"], ["a", "output"], 2, 3),
        (LEARNERS, ["conv1", "conv2", "conv3", "fc1", "fc2", "output"], 10, 3),
        (LEARNERS, [f"backbone.stage{k}.block.conv2" for k in range(6)], 13, 3),
        (["finetune", *(f"my_own_learner_{k}" for k in range(8))], FEATURES, 5, 3),
        (["er"], [f"features.denseblock{k}" for k in range(30)], 20, 3),
    ],
    ids=["one seed", "small", "large", "long names", "nine learners", "deep"],
)
def test_it_fits_on_a_page_and_nothing_is_cut_off(learners, features, tasks, seeds):
    rows = invented.layers(learners, features, tasks=tasks, seeds=seeds, split=("linear",), **BOTH)
    found = drawn(rows, invented.starts(learners, features[1], seeds=seeds, **BOTH))
    assert seen.text_faults(found) == []
    assert seen.hidden_data(found) == []
    assert found.get_figwidth() <= 7 + 1e-9
    assert found.get_figheight() < 10
    boxes = [
        (text.get_window_extent(), axes.bbox) for axes in seen.titled(found) for text in axes.texts
    ]
    assert all(inner.x0 >= outer.x0 and inner.x1 <= outer.x1 for inner, outer in boxes)


def test_numbers_lie_within_their_cells():
    """Also of three digits, in halves of the narrowest cells."""
    names = ["conv1", "conv2", "conv3", "fc1", "fc2", "output"]
    rows = invented.layers(LEARNERS, names, tasks=10, split=("linear",), **BOTH)
    figure = drawn([replace(r, value=-0.12) if r.quantity == "forgotten" else r for r in rows])
    figure.draw_without_rendering()
    for axes in seen.titled(figure):
        mesh = axes.collections[0]
        boxes = [axes.transData.transform(path.vertices) for path in mesh.get_paths()]
        for box, text in zip(boxes, axes.texts, strict=True):
            room = text.get_window_extent()
            assert room.x0 >= box[:, 0].min() - 1
            assert room.x1 <= box[:, 0].max() + 1


def test_the_readout_that_does_not_fit_is_left_out():
    names = [f"own{k}" for k in range(12)]
    rows = invented.layers(names, FEATURES, tasks=12, **BOTH)
    titles = [axes.get_title() for axes in seen.titled(drawn(rows))]
    assert titles == names
    assert seen.note(drawn(rows)) == "Mean over 3 seeds, readout retrain"


def test_panels_say_nothing_that_the_table_does_not():
    """Values are passed on, in points; the hand-made panel is independent of the invented rows."""
    panel = missing.Panel(
        learner="er",
        readout="linear",
        features=["a", "output"],
        places=[1, None],
        values={
            ("a", 1, "missing"): 0.25,
            ("a", 1, "forgotten"): 0.125,
            ("a", 1, "never_learned"): 0.0625,
            ("a", None, "missing"): 0.5,
            ("a", None, "retained"): math.nan,
        },
        start="",
    )
    assert [(cell.x, cell.y, cell.values, cell.hatched) for cell in panel.cells()] == [
        (0, 0, [12.5, 6.25], False),
        (0, 1 + missing.GAP, [50.0], True),
    ]
    assert np.allclose([part[:2] for part in panel.cells()[0].parts()], [[0.03, 0.5], [0.5, 0.97]])
