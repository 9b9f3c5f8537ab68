import math

import numpy as np
import pytest

import figures
from figures.maps import missing_maps
from figures.tables import StudyTables
from probe.tables.table_file import new_table
from tests.figures import invented, papers, seen

FEATURES = papers.FEATURES
LEARNERS = ["finetune", "ewc"]
ROWS = papers.tables().layers[lambda table: table["learner"].isin(LEARNERS)]


def drawn(rows, **tables):
    return figures.layers(StudyTables(layers=rows, **tables))


def test_the_input_is_on_top_and_only_the_first_map_of_a_row_names_its_layers():
    panels = seen.titled(drawn(ROWS))[:2]
    for axes in panels:
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
    first, second = map(seen.row_names, panels)
    assert first == FEATURES
    assert second == [""] * 3
    is_ewc = ROWS["learner"] == "ewc"
    is_first = ROWS["feature"] == FEATURES[0]
    figure = drawn(ROWS[~(is_ewc & is_first)])
    panels = seen.titled(figure)
    assert seen.row_names(panels[1]) == FEATURES[1:]


def test_a_layer_on_which_nothing_is_stated_is_striped():
    layer = ("ewc", "linear", "conv2", 2)
    interval = (0.1, 0.0, 0.2, 3, "training")
    row = (*layer, "forgets", "not converged", 0.01, *interval)
    statements = new_table("statements", [row])
    figure = drawn(ROWS, statements=statements)
    hatched = {
        axes.get_title(): sorted(p.get_y() for p in axes.patches if p.get_hatch())
        for axes in seen.titled(figure)
    }
    assert hatched.pop("EWC, linear") == [1] * 4
    assert not any(hatched.values())
    assert "Striped" in papers.caption(
        "layers", StudyTables(layers=ROWS, statements=statements)
    )


def test_without_an_interval_nothing_is_italic_and_what_was_not_measured_is_empty():
    one = ROWS.assign(
        low=math.nan,
        high=math.nan,
        seeds=1,
    )
    gone = (one["feature"] == "conv2") & (one["task_position"] == 3).fillna(False)
    lost = one.assign(value=one["value"].mask(gone))
    for axes in seen.titled(drawn(lost)):
        assert len(axes.texts) == 11
        assert {text.get_style() for text in axes.texts} == {"normal"}
    cells = next(iter(missing_maps(lost, new_table("statements")))).view.cells
    assert [cell.tone is None for cell in cells[1]] == [False, False, True, False]


@pytest.mark.parametrize(
    ("learners", "features", "tasks"),
    [
        (
            ["finetune", "ewc", "er"],
            ["conv1", "conv2", "conv3", "fc1", "fc2", "output"],
            10,
        ),
        pytest.param(
            [f"my_own_{k}" for k in range(9)],
            FEATURES,
            5,
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ["er"],
            [f"denseblock{k}" for k in range(30)],
            20,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["large", "nine learners", "deep"],
)
def test_it_fits_on_a_page_and_numbers_lie_within_their_cells(
    learners, features, tasks
):
    """Also of three digits, in the narrowest cells."""
    rows = invented.layers(
        learners,
        features,
        tasks=tasks,
        split=("linear",),
        **invented.BOTH,
    )
    rows["value"] = rows["value"].mask(rows["quantity"] == "missing", -0.12)
    found = drawn(rows)
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
    rows = invented.layers(
        [f"my_own_{k}" for k in range(9)],
        FEATURES,
        tasks=10,
        **invented.BOTH,
    )
    assert "the readout retrain." in papers.caption("layers", StudyTables(layers=rows))
