"""Maps of causes: the numbers of the tables, whose columns add up to what was forgotten."""

import numpy as np
import pytest

import figures
from figures.heatmaps import SHADES, WEAK
from figures.maps import BORDERS, cause_maps
from figures.tables import StudyTables
from probe.errors import InputError
from probe.tables.table_file import new_table
from tests.figures import invented, papers, seen

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["finetune", "er"]
TABLE = invented.causes(LEARNERS[::-1], FEATURES, tasks=4)
LAYERS = invented.layers(LEARNERS, FEATURES, tasks=4, readouts=("linear",), split=("linear",))


def numbers(axes):
    """Return the numbers of a map, row by row from the top."""
    at = {tuple(np.floor(t.get_position())[::-1].astype(int)): t for t in axes.texts}
    return {place: round(float(text.get_text())) for place, text in at.items()}


def shown(value):
    """Return points as a number below 10 is shown, with a decimal, rounded as `numbers` does."""
    return round(round(100 * value, 1)) if abs(100 * value) < 9.95 else round(100 * value)


def test_cost_stands_beside_what_the_readout_forgot_and_adds_up_to_what_was_forgotten():
    figure = figures.causes(StudyTables(causes=TABLE, layers=LAYERS))
    names = [f"{name}:\n{title}" for name in ("ER", "Finetune") for title in TITLES]
    assert seen.titles(figure)[:4] == names
    rows = invented.rows_by(TABLE, "learner", "quantity", "task_position", "feature")
    own = invented.rows_by(LAYERS, "learner", "quantity", "task_position", "feature")
    for k, learner in enumerate(("er", "finetune")):
        cost, content = figure.axes[2 * k : 2 * k + 2]
        for x, position in enumerate((1, 2, 3, None)):
            pieces = [rows[learner, "attributed", position, f][0].value for f in FEATURES]
            pieces += [rows[learner, "competition", position, ""][0].value]
            found = [numbers(cost)[y, x] for y in range(5)]
            assert found == [shown(value) for value in (*pieces, sum(pieces))]
            forgot = [own[learner, "forgotten", position, f][0].value for f in FEATURES]
            assert [numbers(content)[y, x] for y in range(3)] == [shown(v) for v in forgot]
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named == [*FEATURES, "more classes", "forgotten"]


TITLES = ("cost of its change", "forgotten by readout")


def test_the_darker_the_more_was_lost_and_what_may_be_chance_is_gray():
    axes = figures.causes(StudyTables(causes=TABLE)).axes[0]
    mesh = axes.collections[0]
    rgba = mesh.cmap(mesh.norm([0, *BORDERS]))
    assert np.diff(rgba[:, :3].sum(axis=1)).max() < 0
    assert rgba == pytest.approx(SHADES(range(8)))
    view = next(iter(cause_maps(TABLE, LAYERS[:0], new_table("statements")))).view
    cells = {(y, x): cell for y, row in enumerate(view.cells) for x, cell in enumerate(row)}
    weak = {place for place, cell in cells.items() if cell.weak}
    italic = {t for t in axes.texts if t.get_style() == "italic"}
    assert len(italic) == len(weak) > 0
    assert WEAK in {t.get_color() for t in italic}


def test_twelve_layers_and_ten_tasks_fit_and_without_causes_nothing_is_drawn():
    names = [f"backbone.features.block{k}.conv" for k in range(12)]
    learners = ["finetune", "er", "my_own_learner_with_samples"]
    rows = invented.rows(learners, names, tasks=11, orders=1)
    table = invented.causes(learners, names, tasks=11)
    figure = figures.causes(StudyTables(causes=table, measurements=rows))
    assert seen.text_faults(figure) + seen.hidden_data(figure) == []
    for nothing in (table[:0], table.assign(score="loss")):
        with pytest.raises(InputError, match=r"figures\.causes"):
            figures.causes(StudyTables(causes=nothing, measurements=rows))
    caption = papers.caption("causes", StudyTables(causes=table, measurements=rows))
    assert "adds a standard error of up to 0.1 points" in caption
