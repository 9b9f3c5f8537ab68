"""What the checks of figures see: a check that sees nothing would pass all of them."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.figures import seen


def blank():
    figure = Figure(figsize=(4, 3))
    FigureCanvasAgg(figure)
    return figure


def test_a_fault_in_the_text_is_seen():
    figure = blank()
    figure.add_axes((0.5, 0.5, 0.4, 0.4))
    for x, y, words in [(0.1, 0.1, "first"), (0.12, 0.1, "second"), (0.97, 0.3, "outside")]:
        figure.text(x, y, words, size=8)
    figure.text(0.6, 0.6, "hiding", size=8)
    figure.text(0.1, 0.7, "tiny", size=5)
    assert seen.text_faults(figure) == [
        "'tiny' is too small",
        "'outside' leaves the canvas",
        "'hiding' covers a panel",
        "'first' overlaps 'second'",
    ]


def test_slanted_texts_overlap_only_where_their_ink_does():
    figure = blank()
    for x in (0.2, 0.3, 0.305):
        figure.text(x, 0.2, f"a slanted label {x}", size=8, rotation=40)
    assert seen.text_faults(figure) == ["'a slanted label 0.3' overlaps 'a slanted label 0.305'"]


def test_a_text_in_a_panel_may_not_reach_into_the_next():
    figure = blank()
    left, _ = figure.subplots(1, 2, subplot_kw={"xticks": [], "yticks": []})
    left.text(0.5, 0.5, "at home", size=8, transform=left.transAxes)
    left.text(0.5, 0.8, "far too long a text for this panel", size=8, transform=left.transAxes)
    assert seen.text_faults(figure) == ["'far too long a text for this panel' covers a panel"]


@pytest.mark.parametrize(
    ("limits", "faults"), [((0, 3), []), ((0, 1.9), ["panel 1 cuts off data"])]
)
def test_cut_off_bars_are_seen(limits, faults):
    figure = Figure()
    axes = figure.add_subplot(ylim=limits)
    axes.errorbar([0, 1], [1, 1], yerr=[0.5, 1])
    assert seen.hidden_data(figure) == faults
