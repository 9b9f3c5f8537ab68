from dataclasses import replace

import numpy as np
import pytest
from matplotlib.container import BarContainer

from figures.kinds import omegas

# Kemker 2018, table 2, MNIST, data permutation.
OMEGAS = {
    "finetune": (0.434, 0.996, 0.702),
    "ewc": (0.437, 0.992, 0.746),
    "fel": (0.117, 0.990, 0.279),
}
NAMES = ("omega_base", "omega_new", "omega_all")


@pytest.fixture
def table(scored):
    value = {(name, m): x for name, row in OMEGAS.items() for m, x in zip(NAMES, row, strict=True)}
    return [
        replace(row, mean=value.get((row.learner, row.metric), row.mean))
        for row in scored(["fel", "finetune", "ewc"])
    ]


def bars(axes):
    """The three Omegas' bars: each (learners, 3), their middles, heights and widths."""
    return [
        np.array([(b.get_x() + b.get_width() / 2, b.get_height(), b.get_width()) for b in group])
        for group in axes.containers
        if isinstance(group, BarContainer)
    ]


def test_bars_are_the_papers_table_learner_by_learner(table):
    (axes,) = omegas.draw(table).axes
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["Finetune", "EWC", "FEL"]
    groups = bars(axes)
    assert [group[:, 1].tolist() for group in groups] == [
        list(column) for column in zip(*OMEGAS.values(), strict=True)
    ]
    x = np.array([group[:, 0] for group in groups])
    assert np.round(x).tolist() == [[0, 1, 2]] * 3
    widths = np.array([group[:, 2] for group in groups])
    assert np.diff(x, axis=0) == pytest.approx(widths[1:])  # side by side, none over another


def test_the_legend_tells_the_omegas_by_their_shade(table):
    figure = omegas.draw(table)
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [rf"$\Omega_{{\mathrm{{{name}}}}}$" for name in ("base", "new", "all")]
    drawn = [c for c in figure.axes[0].containers if isinstance(c, BarContainer)]
    shades = [group[0].get_facecolor() for group in drawn]
    assert [patch.get_facecolor() for patch in legend.get_patches()] == shades
    assert len(set(shades)) == 3


def test_error_bars_are_one_deviation_either_way_and_there_is_a_line_at_1(table):
    (axes,) = omegas.draw(table).axes
    rows = [r for r in table if r.metric == "omega_all"]
    spread = {row.learner: (row.mean - row.std, row.mean + row.std) for row in rows}
    ends = [segment[:, 1] for segment in axes.containers[-1].lines[2][0].get_segments()]
    assert ends == [pytest.approx(spread[name]) for name in OMEGAS]
    assert [1, 1] in [list(line.get_ydata()) for line in axes.lines]


def test_one_seed_has_no_error_bars(scored):
    (axes,) = omegas.draw(scored(OMEGAS, seeds=1)).axes
    assert all(isinstance(container, BarContainer) for container in axes.containers)


def test_without_offline_or_another_learner_nothing_is_drawn(table, scored):
    """Without Offline there is Omega_new alone."""
    alone = [row for row in table if row.metric not in ("omega_base", "omega_all")]
    assert omegas.draw(alone) is None
    assert omegas.draw(scored(["ewc"])) is None


def test_a_learner_that_lacks_an_omega_is_left_out(table):
    rest = [row for row in table if (row.learner, row.metric) != ("ewc", "omega_base")]
    (axes,) = omegas.draw(rest).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Finetune", "FEL"]
