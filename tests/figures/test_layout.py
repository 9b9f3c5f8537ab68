import pytest

from figures import layout, style


def test_a_label_with_a_text_stands_clear_of_its_axis_and_one_without_is_left_alone():
    with style.house_style():
        figure, (named, bare) = layout.panels(2, 2)
        named.set_xlabel("Model size")
        layout.fit(figure, [named, bare], ("", "y"), height=1)
        figure.draw_without_rendering()
    numbers = max(label.get_window_extent().height for label in named.get_xticklabels())
    assert named.xaxis.label.get_window_extent().y1 < named.bbox.y0 - numbers
    assert [axes.get_position().height * figure.get_figheight() for axes in (named, bare)] == (
        pytest.approx([1, 1], abs=2e-3)
    )


@pytest.mark.parametrize(
    ("count", "wide", "width"), [(1, None, 3.4), (1, True, 7), (2, None, 7), (2, False, 3.4)]
)
def test_several_panels_are_as_wide_as_a_page_unless_told_otherwise(count, wide, width):
    figure, grid = layout.panels(count, most=2, wide=wide)
    assert (figure.get_figwidth(), len(grid)) == (width, count)


@pytest.mark.parametrize("first", [0, 1])
def test_ticks_are_whole_few_and_reach_no_further_than_the_last(first):
    for last in range(first, 300):
        ticks = layout.ticks(first, last)
        assert ticks == sorted(set(ticks))
        assert ticks[0] == first
        assert ticks[-1] <= last
        assert last - ticks[-1] <= (last - first) / 3
        assert len(ticks) <= 11
