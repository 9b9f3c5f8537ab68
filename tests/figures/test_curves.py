import math
from dataclasses import replace

import numpy as np
import pytest

from figures.accuracies import Accuracies
from figures.kinds import curves
from probe.tables.summary import mean_accuracies


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def test_each_tasks_curve_is_its_column_of_r_parted_where_it_is_learned(study):
    rows = study(["finetune", "er", "offline"], ["output"], tasks=4)
    drawn = panels(curves.draw(Accuracies.of(rows)))
    assert [axes.get_title() for axes in drawn] == ["Finetune", "ER"]
    for learner, axes in zip(["finetune", "er"], drawn, strict=True):
        percent = 100 * mean_accuracies(rows)[learner].values
        *tasks, _ = axes.lines
        for place in range(1, 5):
            before, after = tasks[2 * place - 2 : 2 * place]
            assert before.get_xdata().tolist() == list(range(place + 1))
            assert after.get_xdata().tolist() == list(range(place, 5))
            assert np.asarray(before.get_ydata(), float) == pytest.approx(
                percent[: place + 1, place - 1]
            )
            assert np.asarray(after.get_ydata(), float) == pytest.approx(percent[place:, place - 1])


def test_the_thick_black_line_averages_the_tasks_learned_so_far(study):
    rows = study(["er"], ["output"], tasks=3)
    R = 100 * mean_accuracies(rows)["er"].values
    (axes,) = panels(curves.draw(Accuracies.of(rows)))
    average = axes.lines[-1]
    assert average.get_color() == "black"
    assert average.get_xdata().tolist() == [1, 2, 3]
    expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, (R[3, 0] + R[3, 1] + R[3, 2]) / 3]
    assert np.asarray(average.get_ydata(), float) == pytest.approx(expected)
    assert average.get_linewidth() > max(line.get_linewidth() for line in axes.lines[:-1])


def test_an_unmeasured_cell_leaves_a_gap_in_the_average(study):
    rows = [
        replace(row, value=math.nan) if (row.step, row.place) == (2, 1) else row
        for row in study(["er"], ["output"], tasks=3)
    ]
    average = panels(curves.draw(Accuracies.of(rows)))[0].lines[-1].get_ydata()
    assert np.isnan(average).tolist() == [False, True, False]


@pytest.mark.parametrize("tasks", [2, 5, 10, 50])
def test_colors_grow_lighter_with_the_place(tasks):
    grey = curves.colors(tasks)[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(grey) > 0).all()


def test_the_legend_names_every_place_up_to_ten_tasks(study):
    few = curves.draw(Accuracies.of(study(["er"], ["output"], tasks=10, orders=1, seeds=1)))
    (legend,) = few.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [*map(str, range(1, 11)), "average so far"]
    assert len(few.axes) == 1
    many = curves.draw(Accuracies.of(study(["er"], ["output"], tasks=11, orders=1, seeds=1)))
    assert [text.get_text() for text in many.legends[0].get_texts()] == ["average so far"]
    assert [axes.get_ylabel() for axes in many.axes] == ["", "Place of the task"]
