import math
from dataclasses import replace

import numpy as np
import pytest

from figures import appearance as looks
from figures import style
from figures.kinds import costs
from probe.tables.rows import TimeRow
from probe.tables.summary import training_seconds

# Kemker 2018, table 2: Omega_all and MB on MNIST, data permutation; the seconds are invented.
OMEGA_ALL = {"finetune": 0.702, "ewc": 0.746, "fel": 0.279}
SIZE = {"finetune": 1.91, "ewc": 3.83, "fel": 4.54}
SECONDS = {"finetune": 9.0, "ewc": 30.0, "fel": 1200.0}


def run(learner, seconds, order="0", seed=0):
    return [
        TimeRow(learner=learner, order=order, seed=seed, step=k, seconds=each)
        for k, each in enumerate(seconds, start=1)
    ]


@pytest.fixture
def table(scored):
    values = {"omega_all": OMEGA_ALL, "model_size_mb": SIZE}
    return [
        replace(row, mean=values[row.metric][row.learner]) if row.metric in values else row
        for row in scored(OMEGA_ALL)
    ]


@pytest.fixture
def times():
    return [row for name, total in SECONDS.items() for row in run(name, [total / 3] * 3)]


def markers(axes):
    """By learner's color, the place of its one marker."""
    lines = {c.lines[0].get_color(): c.lines[0] for c in axes.containers}
    return {color: np.asarray(line.get_xydata(), float)[0] for color, line in lines.items()}


def test_markers_are_the_tables_omega_all_against_megabytes_and_seconds(table, times):
    panels = costs.draw(table, times).axes
    assert [axes.get_xlabel() for axes in panels] == ["Model size (MB)", "Training time (s)"]
    for axes, spent in zip(panels, (SIZE, SECONDS), strict=True):
        assert axes.get_xscale() == "log"
        drawn = markers(axes)
        assert len(drawn) == 3
        for name, look in looks.of_learners(OMEGA_ALL).items():
            assert drawn[look.color] == pytest.approx([spent[name], OMEGA_ALL[name]])


def test_bars_are_one_deviation_of_omega_either_way(table, times):
    std = {row.learner: row.std for row in table if row.metric == "omega_all"}
    for axes in costs.draw(table, times).axes:
        for name, drawn in zip(OMEGA_ALL, axes.containers, strict=True):
            ((low, high),) = (b[:, 1] for b in drawn.lines[2][0].get_segments())
            middle = OMEGA_ALL[name]
            assert (low, high) == pytest.approx((middle - std[name], middle + std[name]))


def test_without_omega_it_is_the_average_accuracy_in_percent(table, times):
    rows = [row for row in table if row.metric != "omega_all"]
    figure = costs.draw(rows, times)
    assert figure.get_supylabel() == "Average accuracy $A_{5}$ (%)"
    final = {row.learner: row.mean for row in rows if row.metric == "average_accuracy[5]"}
    heights = sorted(y for _, y in markers(figure.axes[0]).values())
    assert heights == pytest.approx(sorted(100 * value for value in final.values()))


def test_seconds_are_summed_over_tasks_then_averaged_over_orders_then_seeds():
    """Seed 0 has two orders, of 3 and 5 s, seed 1 one of 10 s: 7 s, not 6."""
    rows = [
        *run("er", [1.0, 2.0]),
        *run("er", [4.0, 1.0], order="1"),
        *run("er", [5.0, 5.0], seed=1),
    ]
    assert training_seconds(rows[::-1]) == {"er": 7.0}


def test_an_unfinished_run_has_no_training_time():
    whole, begun = run("er", [1.0, 2.0]), run("er", [9.0], seed=1)
    assert training_seconds([*whole, *begun, *run("ewc", [5.0])]) == {"er": 3.0}
    offline = TimeRow(learner="offline", order="", seed=0, step=2, seconds=8.0)
    assert training_seconds([*whole, offline]) == {"er": 3.0, "offline": 8.0}
    assert training_seconds([]) == {}


def test_without_times_sizes_or_another_learner_nothing_is_drawn(table, times):
    assert costs.draw(table, []) is None
    assert costs.draw([row for row in table if row.metric != "model_size_mb"], times) is None
    assert costs.draw([row for row in table if row.learner == "ewc"], times) is None


@pytest.mark.parametrize("factor", [1.0, 1.05, 2.0, 5.0, 20.0, 500.0, 1e6])
@pytest.mark.parametrize("least", [0.013, 1.0, 77.0])
def test_the_time_axis_has_a_few_plain_numbers_and_room_beside_the_markers(table, least, factor):
    spent = dict(zip(OMEGA_ALL, (least, least * math.sqrt(factor), least * factor), strict=True))
    figure = costs.draw(table, [row for name, t in spent.items() for row in run(name, [t])])
    with style.house_style():
        figure.draw_without_rendering()
    axes = figure.axes[1]
    low, high = axes.get_xlim()
    assert low < least <= least * factor < high
    ticks = {
        x: t.get_text() for x, t in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    }
    shown = {x: text for x, text in ticks.items() if low <= x <= high}
    assert 1 <= len(shown) <= 8
    assert all(float(text) == pytest.approx(x) for x, text in shown.items())
