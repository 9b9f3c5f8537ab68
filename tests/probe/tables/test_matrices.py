"""Accuracy matrices out of rows, against plain loops over the rows."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import numpy as np
import pytest

from probe.errors import InputError
from probe.tables.matrices import Matrices, mean_accuracies
from tests.probe.tables.made_rows import FEATURES, ORDERS, READOUTS, T, study

SEEDS = 3
ROWS = study(SEEDS)
VALUES = {
    (r.learner, r.order, r.seed, r.tasks_seen, r.feature, r.readout, r.task): r.value
    for r in ROWS
    if r.metric == "accuracy" and r.feature
}


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_matrix_is_the_mean_over_orders_then_seeds_with_the_floor_in_row_0(feature, readout):
    def over(learner, tasks_seen, task_position):
        return mean(
            mean(
                VALUES[learner, "" if learner != "er" else order, seed, tasks_seen, feature, readout,
                       tasks[task_position - 1]]
                for order, tasks in ORDERS.items()
            )
            for seed in range(SEEDS)
        )  # fmt: skip

    matrix = Matrices(ROWS).matrix("er", feature, readout).values
    ceiling = Matrices(ROWS).ceiling("er", feature, readout)
    for task_position in range(1, T + 1):
        column = [
            over("untrained", 0, task_position),
            *(over("er", k, task_position) for k in range(1, T + 1)),
        ]
        np.testing.assert_allclose(matrix[:, task_position - 1], column, atol=1e-12)
        assert ceiling[task_position - 1] == pytest.approx(
            over("offline", T, task_position), abs=1e-12
        )


def test_at_the_output_it_is_that_of_the_main_head_bit_for_bit():
    matrices = Matrices(ROWS)
    single = mean_accuracies(row for row in ROWS if row.head == "single")
    for learner in ("er", "finetune"):
        np.testing.assert_array_equal(matrices.R(learner).values, single[learner].values)
        for readout in READOUTS:
            output = matrices.matrix(learner, "output", readout).values
            np.testing.assert_array_equal(output, single[learner].values)


def test_a_learner_with_another_network_has_neither_floor_nor_ceiling():
    matrices = Matrices(
        replace(row, feature="conv1b") if (row.learner, row.feature) == ("er", "conv1") else row
        for row in ROWS
    )
    for learner, none in (("er", True), ("finetune", False)):
        floor = matrices.matrix(learner, "conv2", "linear").values[0]
        assert np.isnan(floor).all() == none
        assert np.isnan(matrices.ceiling(learner, "conv2", "linear")).all() == none


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Matrices(ROWS).matrix("er", "conv", "linear"), "unknown feature of this analysis"),
        (
            lambda: Matrices([replace(ROWS[0], task_position=9)]),
            "name 9 tasks, of which order 'a' has 1",
        ),
        (
            lambda: Matrices([*ROWS, replace(ROWS[0], tasks_seen=9)]),
            "name 9 tasks, of which order 'a' has 3",
        ),
    ],
)
def test_what_cannot_be_is_told(call, told):
    with pytest.raises(InputError, match=told):
        call()
