import numpy as np
import pytest
from matplotlib.container import BarContainer

from tests.figures import papers, seen


def test_bars_are_the_table_learner_by_learner():
    figure = papers.figure("omegas")
    (axes,) = figure.axes
    # In the order of their appearances.
    names = ["cumulative", "finetune", "ewc", *sorted([*papers.SWEEP, "mine", "yours"])]
    assert seen.tick_names(axes)[:3] == ["Cumulative", "Finetune", "EWC"]
    groups = [c for c in axes.containers if isinstance(c, BarContainer)]
    boxes = [[(b.get_x(), b.get_width(), b.get_height()) for b in bars] for bars in groups]
    left, width, height = np.moveaxis(boxes, -1, 0)
    rows = [[papers.metric(f"omega_{of}", name) for name in names] for of in ("base", "new", "all")]
    assert height.tolist() == [[row.mean for row in each] for each in rows]
    assert np.round(left + width / 2).tolist() == [list(range(len(names)))] * 3
    assert np.diff(left, axis=0) == pytest.approx(width[1:])  # side by side, none over another
    assert seen.bars(axes.containers[-1]) == pytest.approx(seen.spread(rows[-1], scale=1))
    assert [1, 1] in [list(line.get_ydata()) for line in axes.lines]
    shades = [bars[0].get_facecolor() for bars in groups]
    assert [patch.get_facecolor() for patch in figure.legends[0].get_patches()] == shades
    assert seen.legend(figure) == [
        rf"$\Omega_{{\mathrm{{{name}}}}}$" for name in ("base", "new", "all")
    ]
