import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

import figures
from figures.appearance import learner_appearances
from figures.heatmaps import GAP, READOUTS, WEAK, shades
from figures.tables import StudyTables
from tests.figures import invented, papers, seen

FEATURES, LEARNERS = papers.FEATURES, ["finetune", "ewc"]
ROWS, STARTS = (
    table[table["learner"].isin(LEARNERS)]
    for table in (papers.tables().layers, papers.tables().first_layer)
)
AT = {1: 0, 2: 1, 3: 2, None: 3 + GAP}


def drawn(rows, first_layer=STARTS[:0]):
    return figures.layers(StudyTables(layers=rows, first_layer=first_layer))


def parts(mesh):
    """Return the left and the upper end of each colored part, and its value in points."""
    ends = np.array([path.vertices.min(axis=0) for path in mesh.get_paths()]).reshape(-1, 2)
    whole = np.column_stack([np.floor(2 * ends[:, 0] + 0.1) / 2, ends[:, 1] - 0.03])
    return {tuple(at): v for at, v in zip(whole.round(2).tolist(), mesh.get_array(), strict=True)}


def frames(axes):
    return [(p.get_x(), p.get_width()) for p in axes.patches if isinstance(p, Rectangle)]


def test_halves_are_never_learned_and_forgotten_and_add_up_to_the_number():
    figure = drawn(ROWS, STARTS)
    panels = seen.titled(figure)
    keys = [(name, readout) for readout in READOUTS[:2] for name in LEARNERS]
    looks = learner_appearances(LEARNERS)
    assert seen.titles(figure)[:4] == [f"{looks[name].label}, {readout}" for name, readout in keys]
    columns = ("learner", "readout", "feature", "task_position", "quantity")
    by = invented.rows_by(ROWS, *columns)
    points = {key: 100 * row.value for key, (row,) in by.items()}
    for axes, key in zip(panels, keys, strict=True):
        found, expected, numbers = parts(axes.collections[1]), {}, []
        for x, feature in enumerate(FEATURES):
            for task_position, y in AT.items():
                cell = (*key, feature, task_position)
                total = points[(*cell, "missing")]
                halves = [points.get((*cell, name)) for name in ("never_learned", "forgotten")]
                if task_position and None not in halves:
                    expected |= {(x, y): halves[0], (x + 0.5, y): halves[1]}
                    assert sum(halves) == pytest.approx(total)
                else:
                    expected[x, y] = total
                numbers.append(round(total))
        assert found == pytest.approx(expected)
        assert [int(t.get_text()) for t in axes.texts] == numbers
        assert frames(axes) == [(1, 1)]
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert seen.legend(figure) == [
        "Never learned | forgotten",
        "95 % CI includes 0",
        "Shown to forget from here",
    ]
    assert [t.get_text() for t in panels[0].get_yticklabels()] == ["1", "2", "3", "all"]
    assert seen.tick_names(panels[2]) == FEATURES
    assert figure.legends[0].get_window_extent().height < figure.bbox.height / 8


def test_the_scale_is_symmetric_and_tells_1_from_7_points_beside_97():
    scale, points = seen.titled(drawn(ROWS))[0].collections[1].norm, [0, 1, 7, 97]
    found = np.array(scale(points))
    assert found == pytest.approx(1 - np.array(scale(np.negative(points))))
    assert np.diff(found).min() > 0.04


def test_a_number_is_weaker_if_its_interval_holds_0_and_a_cell_surely_below_untrained_stands_out():
    rows = ROWS.query("learner == 'ewc' and readout == 'linear'")
    retained = rows.query("quantity == 'retained'")
    high = retained["task_position"].map({1: -0.1, 2: 0.1})
    above = retained.assign(quantity="above_floor", value=-0.5, high=high.astype(float))
    rows = pd.concat([rows, above])
    figure = drawn(rows)
    (axes,) = seen.titled(figure)
    missing = rows.query("quantity == 'missing'")
    weak = ((missing["low"] <= 0) & (missing["high"] >= 0)).tolist()
    assert [text.get_color() == WEAK for text in axes.texts] == weak
    assert set(weak) == {True, False}
    below, others = ({y for _, y in parts(mesh)} for mesh in axes.collections)
    assert (below, others) == ({0}, {1, 2, 3 + GAP})
    assert "Below untrained" in seen.legend(figure)
    hues = (shades(below=each)(0.8) for each in (True, False))
    assert np.abs(np.subtract(*hues)).max() > 0.5


def test_marks_are_left_out_where_there_is_no_reason_for_them():
    """Of one seed no interval is known, so nothing is weak and nothing surely below."""
    one = ROWS.query("quantity != 'forgotten'").assign(low=math.nan, high=math.nan, seeds=1)
    gone = (one["feature"] == "conv2") & (one["task_position"] == 3).fillna(False)
    lost = one.assign(value=one["value"].mask(gone))
    found = drawn(lost, invented.first_layer(["ewc"], ""))
    for axes in seen.titled(found):
        assert len(parts(axes.collections[1])) == 11
        assert not frames(axes)
        assert WEAK not in [text.get_color() for text in axes.texts]
    assert seen.legend(found) == []


@pytest.mark.parametrize(
    ("learners", "features", "tasks"),
    [
        (["finetune", "ewc", "er"], ["conv1", "conv2", "conv3", "fc1", "fc2", "output"], 10),
        pytest.param([f"my_own_{k}" for k in range(9)], FEATURES, 5, marks=pytest.mark.soak),
        pytest.param(["er"], [f"denseblock{k}" for k in range(30)], 20, marks=pytest.mark.slow),
    ],
    ids=["large", "nine learners", "deep"],
)
def test_it_fits_on_a_page_and_numbers_lie_within_their_cells(learners, features, tasks):
    """Also of three digits, in the narrowest cells."""
    rows = invented.layers(learners, features, tasks=tasks, split=("linear",), **invented.BOTH)
    rows["value"] = rows["value"].mask(rows["quantity"] == "missing", -0.12)
    found = drawn(rows, invented.first_layer(learners, features[1], **invented.BOTH))
    assert seen.text_faults(found) + seen.hidden_data(found) == []
    assert found.get_figwidth() <= 7 + 1e-9
    assert found.get_figheight() < 10
    for axes in (axes for axes in seen.titled(found) if axes.texts):
        for text in axes.texts:
            room = text.get_window_extent()
            left, right = (
                axes.transData.transform((np.floor(text.get_position()[0]) + k, 0))[0]
                for k in (0, 1)
            )
            assert left - 1 <= room.x0 <= room.x1 <= right + 1


def test_a_readout_without_room_on_the_page_is_not_in_the_caption():
    rows = invented.layers([f"my_own_{k}" for k in range(9)], FEATURES, tasks=10, **invented.BOTH)
    assert "the readout retrain." in papers.caption("layers", StudyTables(layers=rows))
