import math
from collections import Counter

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from figures import appearance as looks
from figures import build, parts, style
from figures.kinds import depth
from probe.errors import InputError
from probe.tables.summary import summarize


def test_drawing_and_saving_leave_matplotlibs_settings_alone(study, scored, storing, tmp_path):
    rows = study(["er"], ["conv1", "output"], tasks=2)
    before = dict(matplotlib.rcParams)
    figures = build.draw(rows, summarize(rows), scored(["er"], tasks=2), [storing("er")])
    drawn = [figure for figure in figures.values() if figure]
    assert len(drawn) == 8
    style.save(drawn[0], tmp_path, "one")
    assert dict(matplotlib.rcParams) == before


def test_a_failure_leaves_matplotlibs_settings_alone():
    with matplotlib.rc_context({"font.size": 23.0}):
        before = dict(matplotlib.rcParams)
        with pytest.raises(ZeroDivisionError), style.house_style():
            1 / (matplotlib.rcParams["font.size"] - matplotlib.rcParams["font.size"])
        assert dict(matplotlib.rcParams) == before


def test_a_users_settings_do_not_change_a_figure(study, tmp_path):
    summary = summarize(study(["er"], ["conv1", "output"], tasks=2))
    first = style.save(depth.draw(summary), tmp_path / "a", "depth")
    with matplotlib.rc_context({"font.size": 23.0, "savefig.dpi": 50, "axes.facecolor": "red"}):
        second = style.save(depth.draw(summary), tmp_path / "b", "depth")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_a_figure_that_fails_half_way_keeps_the_old_file_and_leaves_no_other(monkeypatch, tmp_path):
    (tmp_path / "depth.png").write_bytes(b"old")

    def full_disk(self, path, **options):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        style.save(Figure(), tmp_path, "depth")
    assert [path.name for path in tmp_path.iterdir()] == ["depth.png"]
    assert (tmp_path / "depth.png").read_bytes() == b"old"


def test_a_figure_is_laid_out_before_it_is_saved_and_then_drawn_once_for_each_file(
    study, monkeypatch, tmp_path
):
    figure = depth.draw(summarize(study(["er"], ["conv1", "output"], tasks=2)))
    drawn: list[float] = []
    paint = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda *who: drawn.append(figure.dpi) or paint(*who))
    before = [axes.get_position().bounds for axes in figure.axes]
    style.save(figure, tmp_path, "depth")
    assert drawn == [300, 72]
    assert [axes.get_position().bounds for axes in figure.axes] == before


def test_a_label_with_a_text_stands_clear_of_its_axis_and_one_without_is_left_alone():
    with style.house_style():
        figure, (named, bare) = parts.panels(2, 2, style.DOUBLE)
        named.set_xlabel("Model size")
        parts.fit(figure, [named, bare], ("", "y"), height=1)
        figure.draw_without_rendering()
    numbers = max(label.get_window_extent().height for label in named.get_xticklabels())
    assert named.xaxis.label.get_window_extent().y1 < named.bbox.y0 - numbers
    assert [axes.get_position().height * figure.get_figheight() for axes in (named, bare)] == (
        pytest.approx([1, 1], abs=2e-3)
    )


def test_a_folder_that_cannot_be_made_is_an_input_error(tmp_path):
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(InputError, match="cannot write to"):
        style.save(Figure(), tmp_path / "figures", "depth")


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_dodges_are_even_symmetric_and_nearer_to_their_own_place_than_to_the_next(count):
    offsets = np.array(parts.dodges(count))
    assert offsets + offsets[::-1] == pytest.approx(np.zeros(count))
    assert np.ptp(np.diff(offsets)) < 1e-12 if count > 1 else offsets.tolist() == [0]
    assert abs(offsets).max() < 0.3
    wide = np.array(parts.dodges(count, most=0.2, span=0.8))
    assert np.ptp(wide) < 0.8
    assert np.ptp(wide) >= np.ptp(offsets)


@pytest.mark.parametrize("first", [0, 1])
def test_ticks_are_whole_few_and_reach_no_further_than_the_last(first):
    for last in range(first, 300):
        ticks = parts.ticks(first, last)
        assert ticks == sorted(set(ticks))
        assert ticks[0] == first
        assert ticks[-1] <= last
        assert last - ticks[-1] <= (last - first) / 3
        assert len(ticks) <= 11


@pytest.mark.parametrize("count", [1, 4, 5, 6, 14, 40])
def test_a_legend_fills_as_few_rows_as_it_can_and_evenly(count):
    with style.house_style():
        figure, _ = parts.panels(1, 1, style.SINGLE)
        keys = [parts.learner_key(look) for look in _looks(count)]
        parts.legend_above(figure, keys)
        (legend,) = figure.legends
        figure.draw_without_rendering()
        assert legend.get_window_extent().width < figure.bbox.width
        columns = Counter(round(text.get_window_extent().x0) for text in legend.get_texts())
        rows = max(columns.values())
        assert columns.total() == count
        assert len(columns) == math.ceil(count / rows)
        if rows > 1:
            fewer_rows = figure.legend(handles=keys, ncols=math.ceil(count / (rows - 1)))
            assert fewer_rows.get_window_extent().width > 0.97 * figure.bbox.width


def test_a_long_legend_takes_nothing_from_the_panel():
    figure, grid = parts.panels(1, 1, style.SINGLE)
    parts.legend_above(figure, [parts.learner_key(look) for look in _looks(150)])
    parts.fit(figure, grid, ("x", "y"), height=2)
    assert grid[0].get_window_extent().height == pytest.approx(2 * figure.dpi, abs=1)


def _looks(count):
    return looks.of_learners([f"learner{k}" for k in range(count)]).values()


def test_a_marker_without_a_line_has_a_short_key_in_the_legend():
    widths = []
    for joined in (True, False):
        figure, _ = parts.panels(1, 1, style.SINGLE)
        parts.legend_above(figure, [parts.learner_key(look, joined=joined) for look in _looks(2)])
        widths.append(figure.legends[0].get_window_extent().width)
    assert widths[1] < widths[0]


def test_a_bar_of_nan_is_left_out_and_the_others_stay_in_place():
    _, (axes,) = parts.panels(1, 1, style.SINGLE)
    (look,) = _looks(1)
    parts.plot_bars(axes, look, [1, 2, 3], [5, 6, 7], y_bars=[0.5, math.nan, 0.25])
    bars = [bar.tolist() for bar in axes.collections[0].get_segments() if len(bar)]
    assert bars == [[[1, 4.5], [1, 5.5]], [[3, 6.75], [3, 7.25]]]
