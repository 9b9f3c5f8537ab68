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
