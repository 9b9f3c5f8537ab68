"""Accuracy matrices out of rows, against plain loops over the rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from probe.errors import InputError
from probe.tables.matrices import Matrices, mean_matrices
from tests.probe.tables.made_rows import FEATURES, ORDERS, READOUTS, T, study

SEEDS = 3
ROWS = study(SEEDS)
VALUES = {
    (r.learner, r.order, r.seed, r.tasks_seen, r.feature, r.readout, r.task): r.value
    for r in ROWS.query("metric == 'accuracy' and feature != ''").itertuples()
}


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_matrix_is_the_mean_over_orders_then_seeds_with_the_floor_in_row_0(
    feature, readout
):
    def accuracy(learner, order, seed, tasks_seen, position):
        run = learner, "" if learner != "er" else order, seed, tasks_seen
        return VALUES[*run, feature, readout, ORDERS[order][position - 1]]

    def row(learner, tasks_seen):
        values = []
        for seed, order in product(range(SEEDS), ORDERS):
            of_run = [accuracy(learner, order, seed, tasks_seen, p) for p in positions]
            values.append(of_run)
        # As many orders in every seed: one mean is that of means.
        return np.mean(values, axis=0)

    positions = range(1, T + 1)
    expected = [row("untrained", 0), *(row("er", t) for t in positions)]
    matrices = Matrices(ROWS)
    got = matrices.matrix("er", feature, readout).values
    np.testing.assert_allclose(got, expected, atol=1e-12)
    ceiling = matrices.ceiling("er", feature, readout)
    np.testing.assert_allclose(ceiling, row("offline", T), atol=1e-12)


def test_at_the_output_it_is_that_of_the_main_head_bit_for_bit():
    matrices = Matrices(ROWS)
    single = mean_matrices(ROWS[ROWS["head"] == "single"])
    for learner in ("er", "finetune"):
        outputs = [matrices.matrix(learner, "output", name) for name in READOUTS]
        for matrix in (matrices.R(learner), *outputs):
            np.testing.assert_array_equal(matrix.values, single[learner].values)


def test_a_learner_with_another_network_has_neither_floor_nor_ceiling():
    other = (ROWS["learner"] == "er") & (ROWS["feature"] == "conv1")
    matrices = Matrices(ROWS.assign(feature=ROWS["feature"].mask(other, "conv1b")))
    for learner, none in (("er", True), ("finetune", False)):
        floor = matrices.matrix(learner, "conv2", "linear").values[0]
        assert np.isnan(floor).all() == none
        assert np.isnan(matrices.ceiling(learner, "conv2", "linear")).all() == none


def test_controls_stand_beside_the_orders_that_a_learner_has():
    missing = (ROWS["learner"] == "er") & (ROWS["order"] == "b")
    of_a = ROWS[ROWS["order"] != "b"]
    every, unfinished, first = (
        Matrices(rows).ceiling("er", "conv1", "linear")
        for rows in (ROWS, ROWS[~missing], of_a)
    )
    np.testing.assert_array_equal(unfinished, first)
    assert (every != first).any()


def with_row(**cells):
    return pd.concat([ROWS, ROWS[:1].assign(**cells)], ignore_index=True)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: Matrices(ROWS).matrix("er", "conv", "linear"), r"feature.*'conv'"),
        (
            lambda: Matrices(ROWS[:1].assign(task_position=9)),
            "9 tasks.*order 'a' has 1",
        ),
        (lambda: Matrices(with_row(tasks_seen=9)), "9 tasks.*order 'a' has 3"),
    ],
)
def test_what_cannot_be_is_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()
