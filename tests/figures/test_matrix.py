import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb

from figures.accuracies import Accuracies
from figures.kinds import matrix
from probe.tables.summary import mean_accuracies


def luminance(color) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def test_cells_and_their_texts_are_r_in_percent(study):
    rows = study(["finetune", "er", "offline"], ["output"], tasks=4)
    drawn = panels(matrix.draw(Accuracies.of(rows)))
    assert [axes.get_title() for axes in drawn] == ["Finetune", "ER"]
    for learner, axes in zip(["finetune", "er"], drawn, strict=True):
        percent = 100 * mean_accuracies(rows)[learner].values
        (mesh,) = axes.collections
        assert np.asarray(mesh.get_array()).reshape(5, 4) == pytest.approx(percent)
        written = np.full((5, 4), math.nan)
        for text in axes.texts:
            column, row = text.get_position()
            written[row, column - 1] = float(text.get_text())
        assert written == pytest.approx(np.round(percent))


def test_row_zero_is_on_top_and_called_before(study):
    (axes,) = panels(matrix.draw(Accuracies.of(study(["er"], ["output"], tasks=3))))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["before", "1", "2", "3"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.get_yticks().tolist() == [0, 1, 2, 3]


def test_what_was_not_measured_is_left_to_the_hatched_ground(study):
    rows = [
        replace(row, value=math.nan) if (row.step, row.place) == (2, 1) else row
        for row in study(["er"], ["output"], tasks=3)
    ]
    (axes,) = panels(matrix.draw(Accuracies.of(rows)))
    (mesh,) = axes.collections
    hidden = np.ma.getmaskarray(mesh.get_array()).reshape(4, 3)
    assert np.argwhere(hidden).tolist() == [[2, 0]]
    assert len(axes.texts) == 11
    assert axes.patch.get_hatch()


def test_all_learners_share_one_scale_from_0_to_100(study):
    figure = matrix.draw(Accuracies.of(study(["finetune", "er", "gem"], ["output"])))
    meshes = [axes.collections[0] for axes in panels(figure)]
    assert {mesh.get_clim() for mesh in meshes} == {(0, 100)}
    assert len(figure.axes) == len(meshes) + 1


@pytest.mark.parametrize(("tasks", "written"), [(10, 11 * 10), (11, 0)])
def test_values_are_written_up_to_ten_tasks(study, tasks, written):
    rows = study(["er"], ["output"], tasks=tasks, orders=1, seeds=1)
    (axes,) = panels(matrix.draw(Accuracies.of(rows)))
    assert len(axes.texts) == written


@pytest.mark.parametrize(("learners", "tasks"), [(1, 2), (3, 5), (9, 10)])
def test_every_value_stays_within_its_cell(study, learners, tasks):
    names = ["finetune", "er", "gem", "si", "lwf", "ewc", "a", "b", "c"][:learners]
    rows = study(names, ["output"], tasks=tasks, orders=1, seeds=1)
    figure = matrix.draw(Accuracies.of([replace(row, value=1.0) for row in rows]))
    for axes in panels(figure):
        for text in axes.texts:
            column, row = text.get_position()
            corners = [(column - 0.5, row + 0.5), (column + 0.5, row - 0.5)]
            (left, bottom), (right, top) = axes.transData.transform(corners)
            box = text.get_window_extent()
            assert left < box.x0 < box.x1 < right
            assert bottom < box.y0 < box.y1 < top


def test_values_stand_out_from_every_shade():
    for value in np.linspace(0, 1, 101):
        shade = colormaps["viridis"](value)
        light, dark = sorted([luminance(shade), luminance(to_rgb(matrix.ink(shade)))])[::-1]
        assert (light + 0.05) / (dark + 0.05) >= 4.5
