import math

import pytest

from figures import layout, style
from figures.kinds import costs
from figures.tables import Tables
from probe.tables.rows import TimeRow
from tests.figures import invented, seen

# Kemker 2018, table 2: Omega_all and MB on MNIST, data permutation; the seconds are invented.
OMEGA_ALL = {"finetune": 0.702, "ewc": 0.746, "fel": 0.279}
SIZE = {"finetune": 1.91, "ewc": 3.83, "fel": 4.54}
SECONDS = {"finetune": 9.0, "ewc": 30.0, "fel": 1200.0}


def run(learner, seconds):
    return [
        TimeRow(learner=learner, order="0", seed=0, step=k, seconds=each)
        for k, each in enumerate(seconds, start=1)
    ]


TABLE = invented.metrics(OMEGA_ALL, omega_all=OMEGA_ALL, model_size_mb=SIZE)
TIMES = [row for name, total in SECONDS.items() for row in run(name, [total / 3] * 3)]


def test_markers_are_the_tables_omega_all_against_megabytes_and_seconds():
    figure = costs.draw(Tables(metrics=TABLE, times=TIMES))
    assert [axes.get_xlabel() for axes in figure.axes] == ["Model size (MB)", "Training time (s)"]
    rows = {row.learner: row for row in TABLE if row.metric == "omega_all"}
    for axes, spent in zip(figure.axes, (SIZE, SECONDS), strict=True):
        assert axes.get_xscale() == "log"
        assert len(axes.containers) == 3
        for name, drawn in zip(OMEGA_ALL, axes.containers, strict=True):
            assert drawn.lines[0].get_color() == seen.color(name)
            assert seen.points(drawn)[0] == pytest.approx([spent[name], OMEGA_ALL[name]])
            assert seen.bars(drawn) == pytest.approx(seen.spread([rows[name]], scale=1))


def test_without_omega_it_is_the_average_accuracy_in_percent():
    rows = [row for row in TABLE if row.metric != "omega_all"]
    figure = costs.draw(Tables(metrics=rows, times=TIMES))
    assert figure.get_supylabel() == "Average accuracy $A_{5}$ (%)"
    final = [100 * row.mean for row in rows if row.metric == "average_accuracy[5]"]
    assert [seen.heights(c)[0] for c in figure.axes[0].containers] == pytest.approx(final)


def test_without_times_sizes_or_another_learner_nothing_is_drawn():
    no_size = [row for row in TABLE if row.metric != "model_size_mb"]
    alone = [row for row in TABLE if row.learner == "ewc"]
    assert costs.draw(Tables(metrics=TABLE)) is None
    assert costs.draw(Tables(metrics=no_size, times=TIMES)) is None
    assert costs.draw(Tables(metrics=alone, times=TIMES)) is None


@pytest.mark.parametrize("factor", [1.0, 1.05, 2.0, 5.0, 20.0, 500.0, 1e6])
@pytest.mark.parametrize("least", [0.013, 77.0])
def test_an_axis_has_a_few_plain_numbers_and_room_beside_the_markers(least, factor):
    with style.house_style():
        figure, (axes,) = layout.panels(1)
        costs._make_logarithmic(axes, [least, least * math.sqrt(factor), least * factor])
        figure.draw_without_rendering()
    low, high = axes.get_xlim()
    assert low < least <= least * factor < high
    ticks = zip(axes.get_xticks(), seen.tick_names(axes), strict=True)
    shown = {x: text for x, text in ticks if low <= x <= high}
    assert 1 <= len(shown) <= 8
    assert all(float(text) == pytest.approx(x) for x, text in shown.items())
