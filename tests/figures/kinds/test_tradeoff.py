from dataclasses import replace

import numpy as np
import pytest

from figures.appearance import learner_appearances
from figures.kinds import tradeoff
from figures.tables import Tables
from tests.figures import invented, seen

# Chaudhry 2018, table 1: (F5, I5) on MNIST, single head.
MNIST = {"finetune": (0.62, 0.29), "ewc": (0.08, 0.77), "icarl_hybrid1": (0.68, -0.01)}


def table(points):
    """Return the metrics of learners with given forgetting and intransigence after 5 tasks."""
    F, I_T = ({name: pair[k] for name, pair in points.items()} for k in (0, 1))
    means = {"forgetting[5]": F, "intransigence[5]": I_T}
    return invented.metrics(points, tasks=5, **means)


def test_markers_and_bars_are_the_tables():
    rows = {(row.learner, row.metric): row for row in table(MNIST)}
    figure = tradeoff.draw(Tables(metrics=list(rows.values())))
    assert figure.get_supxlabel().startswith("Forgetting $F_{5}$")
    assert figure.get_supylabel().startswith("Intransigence $I_{5}$")
    (axes,) = figure.axes
    for name, drawn in zip(MNIST, axes.containers, strict=True):
        assert seen.points(drawn)[0] == pytest.approx(MNIST[name])
        assert drawn.lines[0].get_marker() == learner_appearances([name])[name].marker
        along_x, along_y = (
            seen.spread([rows[name, f"{metric}[5]"]], scale=1)
            for metric in ("forgetting", "intransigence")
        )
        assert seen.bars(drawn, x=True) == pytest.approx(along_x)
        assert seen.bars(drawn) == pytest.approx(along_y)
    level, upright = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(level.get_ydata()) == [0, 0]
    assert list(upright.get_xdata()) == [0, 0]


SPREADS = {
    "all above 0": {"a": (0.62, 0.29), "b": (0.08, 0.77)},
    "all below 0": {"a": (-0.1, -0.2), "b": (-0.3, -0.01)},
    "both signs": {"a": (0.64, -0.3), "b": (0.03, 0.17)},
    "tiny": {"a": (0.001, 0.01), "b": (0.002, 0.01)},
    "all 0": {"a": (0.0, 0.0)},
}


@pytest.mark.parametrize("spread", SPREADS)
def test_quadrants_are_named_where_they_are_and_nothing_is_under_a_name(spread):
    rows = [replace(r, std=r.std / 10) for r in table(SPREADS[spread])]
    figure = tradeoff.draw(Tables(metrics=rows))
    (axes,) = figure.axes
    to_data = axes.transData.inverted().transform
    boxes = {text.get_text(): text.get_window_extent().get_points() for text in axes.texts}
    assert len(boxes) == 4
    points = np.concatenate(
        [axes.transData.transform(seen.points(drawn)) for drawn in axes.containers]
        + [axes.transData.transform(bar) for b in axes.collections for bar in b.get_segments()]
    )
    for name, box in boxes.items():
        backward, forward = name.split(", ")
        (left, bottom), (right, top) = to_data(box)
        assert right < 0 if backward == "PBT" else left > 0
        assert top < 0 if forward == "PFT" else bottom > 0
        # Half a marker is 3 points.
        low, high = box[0] - 3 / 72 * figure.dpi, box[1] + 3 / 72 * figure.dpi
        assert not ((points > low) & (points < high)).all(axis=1).any()


@pytest.mark.parametrize("metric", ["forgetting", "intransigence"])
def test_learners_without_both_are_left_out(metric):
    rows = [
        row
        for row in table(MNIST)
        if row.learner != "ewc" or not row.metric.startswith(f"{metric}[")
    ]
    assert seen.legend(tradeoff.draw(Tables(metrics=rows))) == ["Finetune", "iCaRL-hb1"]
    neither = [row for row in rows if not row.metric.startswith(metric)]
    assert tradeoff.draw(Tables(metrics=neither)) is None
