"""Every kind of figure fits a column and a page of a paper: nothing overlaps or is cut off."""

import pytest

import figures
from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import asked_for
from tests.figures import papers, seen

LONG = {"mine": "Replay with a very long name (ours)"}
SIZES = [(width, size) for width in (3.25, 7) for size in (7, 10)]
QUICK = [(3.25, 10)]


@pytest.mark.parametrize("font", ["", "serif"])
@pytest.mark.parametrize(
    "size", [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in SIZES], ids=str
)
@pytest.mark.parametrize("name", sorted(KINDS))
def test_all_texts_lie_apart_on_a_figure_that_is_as_wide_as_was_asked_for(name, size, font):
    width, font_size = size
    asked = Options(width=width, font_size=font_size, font=font, labels=LONG)
    figure, _ = asked_for(name, papers.tables(), asked)
    assert figure.get_figwidth() == width
    # In smaller print letters are as small as was asked for.
    faults = [fault for fault in seen.text_faults(figure) if "too small" not in fault]
    assert faults == []
    assert seen.hidden_data(figure) == []


@pytest.mark.parametrize("name", ["depth", "layers", "matrix", "tradeoff"])
def test_texts_are_as_high_as_was_asked_for(name):
    def heights(size):
        figure = getattr(figures, name)(papers.tables(), font_size=size)
        return sorted({text.get_fontsize() for text in seen.texts(figure)})

    assert heights(12) == pytest.approx([1.5 * height for height in heights(8)])
    assert max(heights(8)) == 8
