"""Means over the orders of a seed, then over seeds, against NumPy."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from probe.analysis.intervals import mean_over_seeds
from probe.errors import InputError
from probe.tables.matrices import mean_accuracies
from probe.tables.rows import MeasurementRow, TimeRow
from probe.tables.summary import Layer, pra_by_step, summarize, training_seconds


def a_row(seed, order, value, learner="er", **cells) -> MeasurementRow:
    known = {"scenario": "digits", "network": "cnn3", "learner": learner, "order": order}
    return MeasurementRow(**known, seed=seed, value=value, **cells)


def pra(*run, feature="conv1", depth=1, tasks_seen=4, **cells) -> MeasurementRow:
    at = {"feature": feature, "depth": depth, "tasks_seen": tasks_seen}
    return a_row(*run, metric="pra", **at, **cells)


def accuracy(seed, order, tasks_seen, task_position, value, **given) -> MeasurementRow:
    at = {"tasks_seen": tasks_seen, "task_position": task_position, "task": f"t{task_position}"}
    return a_row(seed, order, value, metric="accuracy", **at, **given)


UNEQUAL = [pra(0, "0", 0.9), pra(0, "1", 0.6), pra(0, "2", 0.3), pra(1, "0", 1.0)]


def test_what_was_not_measured_counts_nowhere():
    (row,) = summarize([pra(0, "0", 0.4), pra(0, "1", math.nan), pra(1, "0", math.nan)])
    assert (row.mean, row.seeds) == (0.4, 1)
    assert summarize([pra(0, "0", math.nan)]) == []


def test_a_balanced_study_equals_numpys_whatever_the_order_of_the_rows():
    values = np.random.default_rng(0).random((2, 3, 4, 5, 4))
    rows = [
        accuracy(s, str(o), tasks_seen, task_position + 1, float(v), learner=f"er{learner}")
        for (learner, s, o, tasks_seen, task_position), v in np.ndenumerate(values)
    ]
    rows += [pra(s, str(o), float(v)) for (s, o), v in np.ndenumerate(values[0, :, :, 0, 0])]
    (row,) = summarize(rows)
    per_seed = values[0, :, :, 0, 0].mean(axis=1)
    assert (row.mean, row.std) == pytest.approx((per_seed.mean(), per_seed.std(ddof=1)), abs=1e-15)
    random.Random(0).shuffle(rows)
    assert summarize(rows) == [row]
    matrices = mean_accuracies(rows)
    assert list(matrices) == [
        name for name in dict.fromkeys(r.learner for r in rows) if name != "er"
    ]
    for learner, own in enumerate(values):
        expected = own.mean(axis=1).mean(axis=0)
        assert matrices[f"er{learner}"].values == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("average", "last", "told"),
    [
        (summarize, replace(pra(1, "0", 0.5), scenario="mnist"), "different studies"),
        (summarize, replace(pra(1, "0", 0.5), network="mlp"), "different studies"),
        (summarize, replace(pra(0, "0", 0.5), depth=None), "metric 'pra' needs a depth"),
        (mean_accuracies, accuracy(0, "0", 2, 2, 0.5), "2 tasks, of which order '0' has 1"),
    ],
)
def test_rows_that_cannot_be_are_refused(average, last, told):
    with pytest.raises(InputError, match=told):
        average([pra(0, "0", 0.5), last])


pairs = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=12)


@given(pairs=pairs, data=st.data())
def test_a_spread_is_numpys_and_neither_order_nor_nan_changes_a_bit(pairs, data):
    spread = mean_over_seeds(pairs)
    seeds = sorted({seed for seed, _ in pairs})
    means = [np.mean([value for own, value in pairs if own == seed]) for seed in seeds]
    std = np.std(means, ddof=1) if len(seeds) > 1 else math.nan
    assert spread.seeds == len(seeds)
    assert spread.mean == pytest.approx(np.mean(means), abs=1e-15)
    assert spread.std == pytest.approx(std, abs=1e-12, nan_ok=True)
    missing = data.draw(st.lists(st.tuples(st.integers(0, 9), st.just(math.nan)), max_size=3))
    other = mean_over_seeds(data.draw(st.permutations(pairs + missing)))
    assert repr(other) == repr(spread)


def test_of_several_steps_and_readouts_the_last_step_of_retraining_is_summarized():
    """The untrained network's last step is 0; other readouts and variants are other measures."""
    rows = [
        pra(0, "0", 0.1, tasks_seen=1, readout="retrain"),
        pra(0, "0", 0.2, tasks_seen=3, readout="retrain"),
        pra(0, "0", 0.4, tasks_seen=4, readout="linear"),
        pra(0, "0", 0.5, tasks_seen=3, readout="retrain@2"),
        pra(0, "0", 0.6, tasks_seen=3, feature="output", depth=2),
        pra(0, "", 0.8, tasks_seen=0, learner="untrained", readout="retrain"),
    ]
    means = {(row.learner, row.feature): row.mean for row in summarize(rows)}
    assert means == {("er", "conv1"): 0.2, ("er", "output"): 0.6, ("untrained", "conv1"): 0.8}


def test_pra_by_step_is_a_mean_over_seeds_of_means_of_orders_for_each_readout():
    rows = [
        replace(row, tasks_seen=tasks_seen, readout=readout, value=scale * row.value)
        for tasks_seen, readout, scale in (
            (2, "linear", 0.5),
            (1, "linear", 1),
            (1, "retrain", 0.1),
        )
        for row in UNEQUAL
    ]
    output = [pra(0, "0", 0.25, tasks_seen=k, feature="output", depth=2) for k in (1, 2)]
    untrained = [pra(0, "", 0.75, tasks_seen=0, learner="untrained", readout="linear")]
    courses = pra_by_step([*output, *rows, *untrained], "linear")
    means = {layer: {k: each.mean for k, each in own.items()} for layer, own in courses.items()}
    assert list(means) == [("er", 1, "conv1"), ("er", 2, "output"), ("untrained", 1, "conv1")]
    assert [*means.values()] == [pytest.approx({1: 0.8, 2: 0.4}), {1: 0.25, 2: 0.25}, {0: 0.75}]
    assert list(means["er", 1, "conv1"]) == [1, 2]
    assert list(pra_by_step(rows, "retrain")) == [Layer("er", 1, "conv1")]


def run(learner, seconds, order="0", seed=0):
    return [
        TimeRow(learner=learner, order=order, seed=seed, tasks_seen=k, seconds=each)
        for k, each in enumerate(seconds, start=1)
    ]


def test_seconds_are_summed_over_tasks_then_averaged_over_orders_then_seeds():
    """Seed 0 has two orders, of 3 and 5 s, seed 1 one of 10 s: 7 s, not 6; unfinished runs none."""
    rows = [*run("er", [1, 2]), *run("er", [4, 1], order="1"), *run("er", [5, 5], seed=1)]
    begun = [*run("er", [9], seed=2), *run("ewc", [5])]
    assert training_seconds([*rows[::-1], *begun]) == {"er": 7.0}
    assert training_seconds([]) == {}
