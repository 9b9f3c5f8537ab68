import math
from collections import Counter

import numpy as np
import pytest

from figures import layout, lines, style
from figures.appearance import learner_appearances
from probe.tables.rows import MetricRow
from tests.figures import seen


def panels(count=1):
    figure, (grid,) = layout.blocks([count], count, wide=count > 1)
    return figure, grid


def appearances(count):
    return learner_appearances([f"learner{k}" for k in range(count)]).values()


def test_a_label_with_a_text_stands_clear_of_its_axis_and_one_without_is_left_alone():
    with style.house_style():
        figure, (named, bare) = panels(2)
        named.set_xlabel("Model size")
        layout.fit(figure, [named, bare], ("", "y"), height=1)
        figure.draw_without_rendering()
    numbers = max(label.get_window_extent().height for label in named.get_xticklabels())
    assert named.xaxis.label.get_window_extent().y1 < named.bbox.y0 - numbers
    assert [axes.get_position().height * figure.get_figheight() for axes in (named, bare)] == (
        pytest.approx([1, 1], abs=2e-3)
    )


@pytest.mark.parametrize("first", [0, 1])
def test_ticks_are_whole_few_and_reach_no_further_than_the_last(first):
    for last in range(first, 300):
        ticks = layout.ticks(first, last)
        assert ticks == sorted(set(ticks))
        assert ticks[0] == first
        assert ticks[-1] <= last
        assert last - ticks[-1] <= (last - first) / 3
        assert len(ticks) <= 11


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_dodges_are_even_symmetric_and_nearer_to_their_own_middle_than_to_the_next(count):
    offsets = np.array(lines.dodges(count))
    assert offsets + offsets[::-1] == pytest.approx(np.zeros(count))
    assert np.ptp(np.diff(offsets)) < 1e-12 if count > 1 else offsets.tolist() == [0]
    assert abs(offsets).max() < 0.3


@pytest.mark.parametrize("count", [1, 5, 14, 40])
def test_a_legend_fills_as_few_rows_as_it_can_and_evenly_and_takes_nothing_from_the_panel(count):
    with style.house_style():
        figure, grid = panels()
        lines.legend_above(figure, appearances(count))
        (legend,) = figure.legends
        layout.fit(figure, grid, ("x", "y"), height=2)
        figure.draw_without_rendering()
        assert grid[0].get_window_extent().height == pytest.approx(2 * figure.dpi, abs=1)
        assert legend.get_window_extent().width < figure.bbox.width
        columns = Counter(round(text.get_window_extent().x0) for text in legend.get_texts())
        rows = max(columns.values())
        assert columns.total() == count
        assert len(columns) == math.ceil(count / rows)
        if rows > 1:
            keys = legend.legend_handles
            fewer_rows = figure.legend(handles=keys, ncols=math.ceil(count / (rows - 1)))
            assert fewer_rows.get_window_extent().width > 0.97 * figure.bbox.width


def test_a_bar_of_nan_is_left_out_and_the_others_stay_in_place():
    _, (axes,) = panels()
    (appearance,) = appearances(1)
    who = {"learner": "er", "paper": "gem", "metric": "acc", "head": "", "seeds": 3}
    pairs = [(0.05, 0.005), (0.06, math.nan), (0.07, 0.0025)]
    rows = [MetricRow(**who, mean=mean, std=std) for mean, std in pairs]
    lines.plot_means(axes, appearance, [1, 2, 3], rows)
    bars = [bar.ravel() for bar in axes.collections[0].get_segments() if len(bar)]
    assert np.array(bars) == pytest.approx(np.array([[1, 4.5, 1, 5.5], [3, 6.75, 3, 7.25]]))


@pytest.mark.parametrize(("last", "marked"), [(10, [7, 8, 9, 10]), (20, [7, 10, 15, 20])])
def test_markers_stand_where_a_course_starts_and_at_the_ticks(last, marked):
    _, (axes,) = panels()
    lines.plot_course(axes, *appearances(1), range(7, last + 1), np.zeros(last - 6))
    assert [axes.lines[0].get_xdata()[k] for k in axes.lines[0].get_markevery()] == marked


@pytest.mark.parametrize(("learner", "face", "edge"), [("ewc", 0, 1), ("ewc-s", 1, 0)])
def test_a_filled_marker_has_a_white_edge_and_an_open_one_is_white_inside(learner, face, edge):
    _, (axes,) = panels()
    line = lines.dress(*axes.plot([0, 1]), learner_appearances([learner])[learner])
    colors = (seen.color(learner), "white")
    assert line.get_markerfacecolor() == colors[face]
    assert line.get_markeredgecolor() == colors[edge]
