import math
from dataclasses import replace

import numpy as np
import pytest

from figures.kinds import matrix
from figures.tables import Tables
from probe.tables.summary import mean_accuracies
from tests.figures import invented, seen


def test_cells_and_their_texts_are_r_in_percent_and_what_was_not_measured_is_hatched():
    rows = [
        replace(row, value=math.nan) if (row.step, row.place) == (2, 1) else row
        for row in invented.rows(["finetune", "er", "gem", "offline"], tasks=4)
    ]
    figure = matrix.draw(Tables(rows=rows))
    panels = seen.titled(figure)
    assert [axes.get_title() for axes in panels] == ["Finetune", "ER", "GEM"]
    for learner, axes in zip(["finetune", "er", "gem"], panels, strict=True):
        percent = 100 * mean_accuracies(rows)[learner].values
        mesh = axes.collections[0]
        found = mesh.get_array().reshape(5, 4)
        assert np.argwhere(np.ma.getmaskarray(found)).tolist() == [[2, 0]]
        assert found.filled(math.nan) == pytest.approx(percent, nan_ok=True)
        assert axes.patch.get_hatch()
        written = np.full((5, 4), math.nan)
        for text in axes.texts:
            column, row = text.get_position()
            written[row, column - 1] = float(text.get_text())
        assert written == pytest.approx(np.round(percent), nan_ok=True)
        assert mesh.get_clim() == (0, 100)
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
        assert axes.get_yticks().tolist() == [0, 1, 2, 3, 4]
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    assert names == ["before", "1", "2", "3", "4"]
    assert len(figure.axes) == 4


@pytest.mark.parametrize(
    ("learners", "tasks"), [(3, 5), pytest.param(9, 10, marks=pytest.mark.slow), (1, 11)]
)
def test_up_to_ten_tasks_every_cell_has_a_value_within_it(learners, tasks):
    names = [f"own{k}" for k in range(learners)]
    rows = invented.rows(names, tasks=tasks, orders=1, seeds=1)
    figure = matrix.draw(Tables(rows=[replace(row, value=1.0) for row in rows]))
    for axes in seen.titled(figure):
        assert len(axes.texts) == ((tasks + 1) * tasks if tasks <= 10 else 0)
        for text in axes.texts:
            column, row = text.get_position()
            corners = [(column - 0.5, row + 0.5), (column + 0.5, row - 0.5)]
            (left, bottom), (right, top) = axes.transData.transform(corners)
            box = text.get_window_extent()
            assert left < box.x0 < box.x1 < right
            assert bottom < box.y0 < box.y1 < top
