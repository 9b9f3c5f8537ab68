from dataclasses import replace

import numpy as np
import pytest

from figures import appearance as looks
from figures.kinds import tradeoff

# Chaudhry 2018, table 1: (F5, I5) on MNIST, single head.
MNIST = {"finetune": (0.62, 0.29), "ewc": (0.08, 0.77), "icarl_hybrid1": (0.68, -0.01)}
# And (F10, I10) on CIFAR-100.
CIFAR = {"finetune-s": (0.64, -0.3), "ewc-s": (0.27, -0.05), "ewc": (0.03, 0.17)}


@pytest.fixture
def table(scored):
    """Return the metrics of learners with given forgetting and intransigence after T tasks."""

    def build(points, *, T=5, seeds=3):
        at = {f"forgetting[{T}]": 0, f"intransigence[{T}]": 1}
        return [
            replace(row, mean=points[row.learner][at[row.metric]]) if row.metric in at else row
            for row in scored(points, tasks=T, seeds=seeds)
        ]

    return build


def bars(container):
    """The (low, high) of the bars along x and along y."""
    along_x, along_y = (bar.get_segments()[0] for bar in container.lines[2])
    return along_x[:, 0].tolist(), along_y[:, 1].tolist()


def marker(container):
    return np.asarray(container.lines[0].get_xydata(), float)[0]


@pytest.mark.parametrize(("points", "T"), [(MNIST, 5), (CIFAR, 10)])
def test_markers_and_bars_are_the_tables(points, T, table):
    rows = table(points, T=T)
    (axes,) = tradeoff.draw(rows).axes
    for (name, place), drawn in zip(points.items(), axes.containers, strict=True):
        assert marker(drawn) == pytest.approx(place)
        assert drawn.lines[0].get_marker() == looks.of_learners([name])[name].marker
        for mean, metric, ends in zip(
            place, ("forgetting", "intransigence"), bars(drawn), strict=True
        ):
            (row,) = [r for r in rows if (r.learner, r.metric) == (name, f"{metric}[{T}]")]
            assert ends == pytest.approx([mean - row.std, mean + row.std])


def test_both_axes_say_how_many_tasks_were_learned(table):
    figure = tradeoff.draw(table(CIFAR, T=10))
    assert figure.get_supxlabel().startswith("Forgetting $F_{10}$")
    assert figure.get_supylabel().startswith("Intransigence $I_{10}$")


def test_one_seed_has_no_bars(table):
    figure = tradeoff.draw(table(MNIST, seeds=1))
    assert not any(drawn.has_xerr or drawn.has_yerr for drawn in figure.axes[0].containers)
    assert figure.legends[0].get_title().get_text() == "One seed"


SPREADS = {
    "all above 0": {"a": (0.62, 0.29), "b": (0.08, 0.77)},
    "all below 0": {"a": (-0.1, -0.2), "b": (-0.3, -0.01)},
    "both signs": CIFAR,
    "tiny": {"a": (0.001, 0.01), "b": (0.002, 0.01)},
    "all 0": {"a": (0.0, 0.0)},
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("seeds", [1, 3])
def test_quadrants_are_named_where_they_are_and_nothing_is_under_a_name(spread, seeds, table):
    figure = tradeoff.draw(
        [replace(r, std=r.std / 10) for r in table(SPREADS[spread], seeds=seeds)]
    )
    (axes,) = figure.axes
    figure.draw_without_rendering()
    to_data = axes.transData.inverted().transform
    boxes = {text.get_text(): text.get_window_extent().get_points() for text in axes.texts}
    assert len(boxes) == 4
    points = np.concatenate(
        [axes.transData.transform(c.lines[0].get_xydata()) for c in axes.containers]
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


def test_zero_lines_part_the_quadrants(table):
    (axes,) = tradeoff.draw(table(CIFAR)).axes
    level, upright = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(level.get_ydata()) == [0, 0]
    assert list(upright.get_xdata()) == [0, 0]


@pytest.mark.parametrize("metric", ["forgetting", "intransigence"])
def test_learners_without_both_are_left_out(metric, table):
    rows = [
        row
        for row in table(MNIST)
        if not (row.learner == "ewc" and row.metric.startswith(f"{metric}["))
    ]
    figure = tradeoff.draw(rows)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["Finetune", "iCaRL-hb1"]
    assert tradeoff.draw([row for row in rows if not row.metric.startswith(metric)]) is None
