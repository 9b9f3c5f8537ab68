import numpy as np
import pytest
from matplotlib.container import BarContainer

from figures.kinds import omegas
from figures.tables import Tables
from tests.figures import invented, seen

# Kemker 2018, table 2, MNIST, data permutation.
OMEGAS = {
    "omega_base": {"finetune": 0.434, "ewc": 0.437, "fel": 0.117},
    "omega_new": {"finetune": 0.996, "ewc": 0.992, "fel": 0.990},
    "omega_all": {"finetune": 0.702, "ewc": 0.746, "fel": 0.279},
}
LEARNERS = ["finetune", "ewc", "fel"]
TABLE = invented.metrics(["fel", "finetune", "ewc"], **OMEGAS)


@pytest.fixture(scope="module")
def figure():
    return omegas.draw(Tables(metrics=TABLE))


def groups(figure):
    return [c for c in figure.axes[0].containers if isinstance(c, BarContainer)]


def test_bars_are_the_papers_table_learner_by_learner(figure):
    assert seen.tick_names(figure.axes[0]) == ["Finetune", "EWC", "FEL"]
    boxes = [[(b.get_x(), b.get_width(), b.get_height()) for b in bars] for bars in groups(figure)]
    left, width, height = np.moveaxis(boxes, -1, 0)
    assert height.tolist() == [list(each.values()) for each in OMEGAS.values()]
    assert np.round(left + width / 2).tolist() == [[0, 1, 2]] * 3
    assert np.diff(left, axis=0) == pytest.approx(width[1:])  # side by side, none over another


def test_the_legend_tells_the_omegas_by_their_shade(figure):
    assert seen.legend(figure) == [
        rf"$\Omega_{{\mathrm{{{name}}}}}$" for name in ("base", "new", "all")
    ]
    shades = [bars[0].get_facecolor() for bars in groups(figure)]
    assert [patch.get_facecolor() for patch in figure.legends[0].get_patches()] == shades
    assert len(set(shades)) == 3


def test_error_bars_are_one_deviation_either_way_and_there_is_a_line_at_1(figure):
    (axes,) = figure.axes
    rows = {row.learner: row for row in TABLE if row.metric == "omega_all"}
    expected = seen.spread([rows[name] for name in LEARNERS], scale=1)
    assert seen.bars(axes.containers[-1]) == pytest.approx(expected)
    assert [1, 1] in [list(line.get_ydata()) for line in axes.lines]


def test_without_deviations_offline_or_another_learner_there_is_less_to_draw():
    """One seed has no error bars; without Offline there is Omega_new alone."""
    figure = omegas.draw(Tables(metrics=invented.metrics(LEARNERS, seeds=1)))
    assert len(groups(figure)) == len(figure.axes[0].containers)
    alone = [row for row in TABLE if row.metric not in ("omega_base", "omega_all")]
    assert omegas.draw(Tables(metrics=alone)) is None
    assert omegas.draw(Tables(metrics=invented.metrics(["ewc"]))) is None


def test_a_learner_that_lacks_an_omega_is_left_out():
    rest = [row for row in TABLE if (row.learner, row.metric) != ("ewc", "omega_base")]
    assert seen.tick_names(omegas.draw(Tables(metrics=rest)).axes[0]) == ["Finetune", "FEL"]
