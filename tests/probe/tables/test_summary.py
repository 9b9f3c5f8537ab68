"""Means over the orders of a seed, then over seeds, against NumPy."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from probe.analysis.intervals import mean_over_seeds
from probe.errors import InputError
from probe.tables.matrices import mean_matrices
from probe.tables.summary import pra_by_step, summarize, training_seconds
from probe.tables.table_file import new_table


def a_row(seed, order, value, learner="er", **cells):
    return {
        "scenario": "digits",
        "network": "cnn3",
        "learner": learner,
        "order": order,
        "seed": seed,
        "value": value,
        **cells,
    }


def pra(*run, feature="conv1", depth=1, tasks_seen=4, **cells):
    return a_row(
        *run,
        metric="pra",
        feature=feature,
        depth=depth,
        tasks_seen=tasks_seen,
        **cells,
    )


def accuracy(seed, order, tasks_seen, task_position, value, **cells):
    return a_row(
        seed,
        order,
        value,
        metric="accuracy",
        tasks_seen=tasks_seen,
        task_position=task_position,
        task=f"t{task_position}",
        **cells,
    )


def table(*rows):
    return new_table("measurements", rows)


UNEQUAL = [
    pra(0, "0", 0.9),
    pra(0, "1", 0.6),
    pra(0, "2", 0.3),
    pra(1, "0", 1.0),
]


def test_what_was_not_measured_counts_nowhere():
    rows = [
        pra(0, "0", 0.4),
        pra(0, "1", math.nan),
        pra(1, "0", math.nan),
    ]
    (row,) = summarize(table(*rows)).itertuples()
    assert (row.mean, row.seeds) == (0.4, 1)
    assert summarize(table(rows[1])).empty


@pytest.mark.parametrize(
    ("average", "last", "told"),
    [
        (summarize, pra(1, "0", 0.5) | {"scenario": "mnist"}, "different studies"),
        (summarize, pra(1, "0", 0.5) | {"network": "mlp"}, "different studies"),
        (summarize, pra(0, "0", 0.5, depth=None), "metric 'pra' needs a depth"),
        (
            mean_matrices,
            accuracy(0, "0", 2, 2, 0.5),
            "2 tasks, of which order '0' has 1",
        ),
    ],
)
def test_rows_that_cannot_be_are_refused(average, last, told):
    with pytest.raises(InputError, match=told):
        average(table(pra(0, "0", 0.5), last))


@pytest.mark.parametrize(("orders", "expected"), [(1, [0.8, 0.2]), (2, [0.5, 0.5])])
def test_f1_of_networks_without_an_order_is_of_the_tasks_at_each_position(
    orders, expected
):
    at = {
        "metric": "f1",
        "feature": "conv1",
        "depth": 1,
        "tasks_seen": 2,
    }
    rows = []
    for o, (k, task) in product(range(orders), enumerate("ab")):
        place = {"task": task, "task_position": 1 + abs(o - k)}
        rows.append(a_row(0, str(o), 0.1, **at, **place))
    for task, j, value in (("a", 1, 0.8), ("b", 2, 0.2)):
        rows.append(a_row(0, "", value, "offline", **at, task=task, task_position=j))
    summary = summarize(table(*rows)).query("learner == 'offline'")
    assert summary["mean"].tolist() == pytest.approx(expected)


pairs = st.lists(
    st.tuples(st.integers(0, 3), st.floats(0, 1)),
    min_size=1,
    max_size=12,
)


@given(pairs=pairs, data=st.data())
def test_a_spread_is_numpys_and_neither_order_nor_nan_changes_a_bit(pairs, data):
    spread = mean_over_seeds(pairs)
    values_of = defaultdict(list)
    for seed, value in pairs:
        values_of[seed].append(value)
    means = [np.mean(values) for values in values_of.values()]
    std = math.nan
    if len(means) > 1:
        std = np.std(means, ddof=1)
    assert spread.seeds == len(means)
    assert spread.mean == pytest.approx(np.mean(means), abs=1e-15)
    assert spread.std == pytest.approx(std, abs=1e-12, nan_ok=True)
    missing = data.draw(
        st.lists(st.tuples(st.integers(0, 9), st.just(math.nan)), max_size=3)
    )
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
        pra(
            0,
            "",
            0.8,
            tasks_seen=0,
            learner="untrained",
            readout="retrain",
        ),
    ]
    means = summarize(table(*rows)).set_index(["learner", "feature"])["mean"].to_dict()
    assert means == {
        ("er", "conv1"): 0.2,
        ("er", "output"): 0.6,
        ("untrained", "conv1"): 0.8,
    }


def test_pra_by_step_is_a_mean_over_seeds_of_means_of_orders_for_each_readout():
    steps = [
        (2, "linear", 0.5),
        (1, "linear", 1),
        (1, "retrain", 0.1),
    ]
    rows = []
    for (k, readout, scale), row in product(steps, UNEQUAL):
        value = scale * row["value"]
        rows.append(row | {"tasks_seen": k, "readout": readout, "value": value})
    output = [
        pra(0, "0", 0.25, tasks_seen=k, feature="output", depth=2) for k in (1, 2)
    ]
    untrained = [
        pra(
            0,
            "",
            0.75,
            tasks_seen=0,
            learner="untrained",
            readout="linear",
        )
    ]
    courses = pra_by_step(table(*output, *rows, *untrained), "linear")
    layers = courses[["learner", "depth", "feature", "tasks_seen"]]
    assert layers.values.tolist() == [
        ["er", 1, "conv1", 1],
        ["er", 1, "conv1", 2],
        ["er", 2, "output", 1],
        ["er", 2, "output", 2],
        ["untrained", 1, "conv1", 0],
    ]
    assert courses["mean"].tolist() == pytest.approx([0.8, 0.4, 0.25, 0.25, 0.75])
    assert set(pra_by_step(table(*rows), "retrain")["tasks_seen"]) == {1}


def run(learner, seconds, order="0", seed=0):
    return [(learner, order, seed, k, each) for k, each in enumerate(seconds, start=1)]


def test_seconds_are_summed_over_tasks_then_averaged_over_orders_then_seeds():
    """Seed 0 has two orders, of 3 and 5 s, seed 1 one of 10 s: 7 s, not 6; unfinished runs none."""
    rows = [
        *run("er", [1, 2]),
        *run("er", [4, 1], order="1"),
        *run("er", [5, 5], seed=1),
    ]
    begun = [*run("er", [9], seed=2), *run("ewc", [5])]
    assert training_seconds(new_table("times", [*rows[::-1], *begun])) == {"er": 7.0}
    assert training_seconds(new_table("times")) == {}
