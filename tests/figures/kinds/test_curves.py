import math
from dataclasses import replace

import numpy as np
import pytest

from figures.kinds import curves
from figures.tables import Tables
from probe.tables.summary import mean_accuracies
from tests.figures import invented, papers, seen


def test_a_curve_is_a_column_of_r_split_where_it_is_learned_and_black_is_the_average():
    panels = seen.titled(papers.figure("curves"))
    assert [p.get_title() for p in panels] == ["Finetune", "Cumulative", "mine", "yours", "EWC"]
    for learner, axes in zip(papers.LEARNERS, panels, strict=True):
        R = 100 * mean_accuracies(papers.rows())[learner].values
        *others, average = axes.lines
        for j in range(1, 4):
            before, after = (seen.points(line).T for line in others[2 * j - 2 : 2 * j])
            assert before == pytest.approx(np.array([range(j + 1), R[: j + 1, j - 1]]))
            assert after == pytest.approx(np.array([range(j, 4), R[j:, j - 1]]))
        assert average.get_color() == "black"
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, sum(R[3]) / 3]
        assert pytest.approx(np.array([[1, 2, 3], expected])) == seen.points(average).T


def test_an_unmeasured_cell_leaves_a_gap_in_the_average():
    rows = [r for r in papers.rows() if r.learner == "ewc"]
    gap = [replace(r, value=math.nan) if (r.step, r.place) == (2, 1) else r for r in rows]
    average = curves.seen_average(Tables(rows=gap).matrices["ewc"])
    assert np.isnan(average).tolist() == [False, True, False]


@pytest.mark.parametrize("tasks", [10, 11])
def test_the_legend_names_every_position_up_to_ten_tasks_and_colors_grow_lighter(tasks):
    figure = curves.draw(Tables(rows=invented.rows(["er"], tasks=tasks, orders=1, seeds=1)))
    named = [str(place) for place in range(1, 11)] if tasks == 10 else []
    assert seen.legend(figure) == [*named, "average so far"]
    assert len(figure.axes) == (1 if tasks == 10 else 2)
    grey = curves.colors(tasks)[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(grey) > 0).all()
