"""The figure of causes draws the numbers of the tables, and so do the maps of the page."""

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import figures
from figures.maps import layer_map
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, papers, seen

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["er", "finetune"]
TABLE = invented.causes(LEARNERS, FEATURES, tasks=4)
LAYERS = invented.layers(
    LEARNERS,
    FEATURES,
    tasks=4,
    readouts=("linear",),
    split=("linear",),
)
STUDY = StudyTables(causes=TABLE, layers=LAYERS)


def expected(table, learner, quantity, features=FEATURES):
    """Return value, low and high in points over all tasks, by layer."""
    rows = table.query(
        "learner == @learner and quantity == @quantity and task_position.isna()"
    )
    rows = rows.set_index("feature").loc[features]
    return (100 * rows[["value", "low", "high"]]).to_numpy().tolist()


def drawn(container):
    """Return value, low and high of marks with intervals along x."""
    values = seen.points(container)[:, 0]
    finite = values[np.isfinite(values)]
    return [
        [x, *ends] for x, ends in zip(finite, seen.bars(container, x=True), strict=True)
    ]


def marks(axes):
    return [c for c in axes.containers if hasattr(c, "has_xerr")]


def test_bars_marks_and_verdicts_are_those_of_the_table():
    figure = figures.causes(STUDY)
    for k, learner in enumerate(LEARNERS):
        axes, beside = figure.axes[2 * k : 2 * k + 2]
        total = expected(
            TABLE,
            learner,
            "forgotten",
            [""],
        )[0][0]
        assert (
            axes.get_title() == f"{['ER', 'Finetune'][k]}: {total:.1f} points forgotten"
        )
        shares = expected(TABLE, learner, "attributed")
        widths = [bar.get_width() for bar in axes.patches]
        competing = expected(
            TABLE,
            learner,
            "competition",
            [""],
        )
        assert widths == pytest.approx([row[0] for row in shares + competing])
        assert sum(widths) == pytest.approx(total)
        ends = [expected(TABLE, learner, q) for q in ("broken", "restored")]
        for container, rows in zip(
            marks(axes),
            [shares + competing, *ends],
            strict=True,
        ):
            assert drawn(container) == [pytest.approx(row) for row in rows]
        verdicts = TABLE.query(
            "learner == @learner and verdict != '' and task_position.isna()"
        )
        assert [text.get_text() for text in axes.texts] == [*verdicts["verdict"], ""]
        content = drawn(marks(beside)[0])
        assert content == [
            pytest.approx(row) for row in expected(LAYERS, learner, "forgotten")
        ]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [*FEATURES, "more classes"]


def test_a_players_of_attributes_is_last_and_training_is_drawn_where_there_are_both_scopes():
    rows = TABLE[TABLE["feature"] == "conv1"]
    player = rows.assign(
        feature="attributes of gate", depth=pd.array([pd.NA] * len(rows), "Int64")
    )
    networks = TABLE.assign(scope="network", value=0.9)
    both = pd.concat([networks, player, TABLE], ignore_index=True)
    axes = figures.causes(replace(STUDY, causes=both)).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [*FEATURES, "attributes of gate", "more classes"]
    shares = expected(
        TABLE,
        "er",
        "attributed",
        [*FEATURES, "conv1"],
    )
    assert drawn(marks(axes)[0])[:-1] == [pytest.approx(row) for row in shares]


@pytest.mark.parametrize("learners", [1, 4])
@pytest.mark.parametrize("layers", [3, 12])
def test_it_fits_on_a_page(learners, layers):
    names = [f"backbone.features.block{k}.conv" for k in range(layers)]
    everyone = ["finetune", "er", "si", "my_own_learner_with_samples"]
    chosen = everyone[-learners:]
    layers = invented.layers(
        chosen,
        names,
        readouts=("linear",),
        split=("linear",),
    )
    causes = invented.causes(chosen, names)
    figure = figures.causes(StudyTables(causes=causes, layers=layers))
    assert seen.text_faults(figure) + seen.hidden_data(figure) == []
    assert figure.get_figwidth() <= 7 + 1e-9
    assert figure.get_figheight() < 10


def test_a_panel_is_drawn_into_a_users_axes_and_a_narrow_figure_has_one_column():
    _, axes = plt.subplots(layout="constrained")
    figures.causes(
        STUDY,
        ax=axes,
        panel=4,
    )
    assert axes.get_title() == "Forgotten by readout linear"
    narrow = figures.causes(STUDY, width=3.4)
    assert len({panel.get_position().x0 for panel in narrow.axes}) == 1
    assert seen.text_faults(narrow) + seen.hidden_data(narrow) == []


def test_without_causes_nothing_is_drawn_and_verdicts_are_in_the_caption():
    for nothing in (TABLE[:0], TABLE.assign(score="loss")):
        with pytest.raises(InputError, match=r"figures\.causes"):
            figures.causes(replace(STUDY, causes=nothing))
    caption = papers.caption("causes", STUDY)
    assert "costs: its change does harm, and undoing it repairs" in caption
    one = replace(STUDY, causes=TABLE.assign(scope="network", seeds=1))
    assert "One network, 95 % interval (of test examples)" in papers.caption(
        "causes", one
    )


def test_italics_are_intervals_that_include_0_and_nothing_else():
    rows = TABLE.query("quantity == 'attributed'")
    for table in (rows, rows.assign(low=math.nan, high=math.nan)):
        cells = layer_map(table, ["attributed"]).all_cells
        includes_0 = {(row.low <= 0 <= row.high) for row in table.itertuples()}
        assert {cell.weak for cell in cells if cell.tip} == includes_0
