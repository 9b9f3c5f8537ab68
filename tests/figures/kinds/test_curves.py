import math
from dataclasses import replace

import numpy as np
import pytest

from figures.kinds import curves
from figures.tables import Tables
from probe.tables.summary import mean_accuracies
from tests.figures import invented, seen

ROWS = invented.rows(["finetune", "er", "offline"], tasks=4)


@pytest.fixture(scope="module")
def figure():
    return curves.draw(Tables(rows=ROWS))


def test_each_tasks_curve_is_its_column_of_r_split_where_it_is_learned(figure):
    assert [axes.get_title() for axes in seen.titled(figure)] == ["Finetune", "ER"]
    for learner, axes in zip(["finetune", "er"], seen.titled(figure), strict=True):
        percent = 100 * mean_accuracies(ROWS)[learner].values
        for place in range(1, 5):
            before, after = (seen.points(line).T for line in axes.lines[2 * place - 2 : 2 * place])
            assert before[0].tolist() == list(range(place + 1))
            assert before[1] == pytest.approx(percent[: place + 1, place - 1])
            assert after[0].tolist() == list(range(place, 5))
            assert after[1] == pytest.approx(percent[place:, place - 1])


def test_the_thick_black_line_averages_the_tasks_learned_so_far(figure):
    R = 100 * mean_accuracies(ROWS)["er"].values
    *others, average = seen.titled(figure)[1].lines
    assert average.get_color() == "black"
    steps, values = seen.points(average).T
    assert steps.tolist() == [1, 2, 3, 4]
    assert values[:2] == pytest.approx([R[1, 0], (R[2, 0] + R[2, 1]) / 2])
    assert values[2:] == pytest.approx([sum(R[3, :3]) / 3, sum(R[4]) / 4])
    assert average.get_linewidth() > max(line.get_linewidth() for line in others)


def test_an_unmeasured_cell_leaves_a_gap_in_the_average():
    gap = [replace(r, value=math.nan) if (r.step, r.place) == (2, 1) else r for r in ROWS]
    average = curves.seen_average(Tables(rows=gap).matrices["er"])
    assert np.isnan(average).tolist() == [False, True, False, False]


@pytest.mark.parametrize("tasks", [2, 5, 10, 50])
def test_colors_grow_lighter_with_the_place(tasks):
    grey = curves.colors(tasks)[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(grey) > 0).all()


@pytest.mark.parametrize(
    ("tasks", "named", "labels"),
    [(10, [*map(str, range(1, 11))], [""]), (11, [], ["", "Place of the task"])],
)
def test_the_legend_names_every_place_up_to_ten_tasks(tasks, named, labels):
    figure = curves.draw(Tables(rows=invented.rows(["er"], tasks=tasks, orders=1, seeds=1)))
    assert seen.legend(figure) == [*named, "average so far"]
    assert [axes.get_ylabel() for axes in figure.axes] == labels
