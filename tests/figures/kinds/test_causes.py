"""The figure of causes draws the numbers of the tables, and so do the maps of the page."""

import math
from itertools import pairwise

import pandas as pd
import pytest

import figures
from figures.maps import layer_map
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["er", "finetune"]
TABLE = invented.causes(
    LEARNERS,
    FEATURES,
    tasks=4,
)


def over_all(table, learner):
    rows = table[table["task_position"].isna() & (table["learner"] == learner)]
    return rows.set_index(["quantity", "feature"])["value"] * 100


def bars_at(axes, y):
    """Return start and width of the bars in a row."""
    bars = [bar for bar in axes.patches if bar.get_y() < y < bar.get_y() + 0.9]
    return [(bar.get_x(), bar.get_width()) for bar in bars]


@pytest.mark.parametrize("scale", [1, 0.01, -1])
def test_pieces_lie_side_by_side_and_their_sum_stands_at_the_end(scale):
    table = TABLE.assign(value=scale * TABLE["value"])
    axes = figures.causes(StudyTables(causes=table)).axes[0]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    for learner, name in (("er", "ER"), ("finetune", "Finetune")):
        y = rows.index(name)
        bars = bars_at(axes, y)
        total = over_all(table, learner)["forgotten", ""]
        assert sum(width for _, width in bars) == pytest.approx(total)
        assert axes.texts[y].get_text() == f"{total:.1f}"
        # No piece lies over another: those below 0 are left of it.
        for sign in (1, -1):
            side = [(0, 0), *(bar for bar in bars if sign * bar[1] > 0)]
            for (start, width), (following, _) in pairwise(side):
                assert following == pytest.approx(start + width)


def test_training_is_drawn_where_there_are_both_scopes_and_other_blocks_are_last():
    of_conv1 = TABLE[TABLE["feature"] == "conv1"]
    no_depth = pd.array([pd.NA] * len(of_conv1), "Int64")
    player = of_conv1.assign(feature="attributes of gate", depth=no_depth)
    networks = TABLE.assign(scope="network", value=0.9)
    both = pd.concat(
        [
            networks,
            player,
            TABLE,
        ],
        ignore_index=True,
    )
    figure = figures.causes(StudyTables(causes=both))
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [
        *FEATURES,
        "attributes of gate",
        "new classes",
    ]
    axes = figure.axes[0]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    widths = [width for _, width in bars_at(axes, rows.index("ER"))]
    values = over_all(TABLE, "er")
    assert widths[3] == pytest.approx(values["attributed", "conv1"])


OF_LAYERS = TABLE["quantity"] == "attributed"


def test_a_learner_without_shares_of_layers_is_not_drawn():
    withheld = TABLE["value"].mask(OF_LAYERS & (TABLE["learner"] == "er"))
    axes = figures.causes(StudyTables(causes=TABLE.assign(value=withheld))).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Finetune"]


@pytest.mark.parametrize(
    "nothing",
    [
        TABLE[:0],
        TABLE.assign(score="loss"),
        TABLE.assign(value=TABLE["value"].mask(OF_LAYERS)),
    ],
)
def test_without_causes_of_accuracy_nothing_is_drawn(nothing):
    with pytest.raises(InputError, match=r"figures\.causes"):
        figures.causes(StudyTables(causes=nothing))


def test_italics_are_intervals_that_include_0_and_nothing_else():
    rows = TABLE.query("quantity == 'attributed'")
    for table in (rows, rows.assign(low=math.nan, high=math.nan)):
        cells = layer_map(table, ["attributed"]).all_cells
        includes_0 = {(row.low <= 0 <= row.high) for row in table.itertuples()}
        assert {cell.weak for cell in cells if cell.tip} == includes_0
