"""Accuracy matrices out of rows, against plain loops over the rows."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, mean

import numpy as np
import pytest

from probe.errors import InputError
from probe.tables.matrices import Matrices
from probe.tables.summary import mean_accuracies
from tests.probe.tables.made_rows import BASE, FEATURES, ORDERS, READOUTS, T, study

SEEDS = 3
ROWS = study(SEEDS)


def value(**cells):
    """The value of the one row with these cells."""
    (found,) = (
        row.value
        for row in ROWS
        if row.measure == "accuracy" and all(getattr(row, n) == x for n, x in cells.items())
    )
    return found


def over(cell):
    """The mean over the orders of a seed, then over seeds; cell: of order and seed."""
    return mean(mean(cell(order, seed) for order in ORDERS) for seed in range(SEEDS))


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_matrix_is_the_mean_over_orders_then_seeds_with_the_floor_in_row_0(feature, readout):
    at = {"feature": feature, "readout": readout}
    found = Matrices(ROWS).matrix("er", feature, readout).values
    for place in range(1, T + 1):
        for step in range(1, T + 1):
            run = {"learner": "er", "step": step, "place": place, **at}
            expected = over(lambda order, seed, run=run: value(order=order, seed=seed, **run))
            assert found[step, place - 1] == pytest.approx(expected, abs=1e-12)

        def floor(order, seed, place=place):
            return value(learner="untrained", seed=seed, task=ORDERS[order][place - 1], **at)

        def ceiling(order, seed, place=place):
            return value(learner="offline", seed=seed, task=ORDERS[order][place - 1], **at)

        assert found[0, place - 1] == pytest.approx(over(floor), abs=1e-12)
        found_ceiling = Matrices(ROWS).ceiling("er", feature, readout)[place - 1]
        assert found_ceiling == pytest.approx(over(ceiling), abs=1e-12)


def test_at_the_output_it_is_that_of_the_main_head_bit_for_bit():
    matrices = Matrices(ROWS)
    for learner in ("er", "finetune"):
        for readout in READOUTS:
            found = matrices.matrix(learner, "output", readout).values
            np.testing.assert_array_equal(found, matrices.R(learner).values)
    single = mean_accuracies(row for row in ROWS if row.head == "single")
    multi = mean_accuracies(row for row in ROWS if row.head == "multi")
    np.testing.assert_array_equal(matrices.R("er").values, single["er"].values)
    assert not np.allclose(matrices.R("er").values, multi["er"].values)


def test_equal_values_have_themselves_for_a_mean():
    """Of seven copies of this number the sum divided by seven is another one."""
    odd = 0.14771027651575264
    assert fmean(7 * [odd]) != odd
    rows = [replace(row, value=odd, seed=seed) for seed in range(7) for row in study(1)]
    found = Matrices(rows).matrix("er", "conv1", "linear").values
    assert set(found.ravel().tolist()) == {odd}


def test_what_was_not_measured_is_nan():
    rows = [row for row in ROWS if row.learner not in ("offline", "untrained")]
    matrices = Matrices([row for row in rows if not (row.feature == "conv1" and row.step == 2)])
    found = matrices.matrix("er", "conv1", "linear").values
    assert np.isnan(found[[0, 2]]).all()
    assert not np.isnan(found[[1, 3]]).any()
    assert np.isnan(matrices.ceiling("er", "conv1", "linear")).all()


def test_a_learner_with_another_network_has_no_floor_and_ceiling_of_ours():
    own = [replace(row, feature="conv1b") if row.feature == "conv1" else row for row in ROWS]
    rows = [new if row.learner == "er" else row for row, new in zip(ROWS, own, strict=True)]
    matrices = Matrices(rows)
    for learner, has in (("er", False), ("finetune", True)):
        floor = matrices.matrix(learner, "conv2", "linear").values[0]
        assert np.isnan(floor).all() != has
        assert np.isnan(matrices.ceiling(learner, "conv2", "linear")).all() != has


def test_names_are_told_apart():
    found = Matrices(ROWS)
    assert found.learners == ("er", "finetune")
    assert found.levels == ("untrained", "offline")
    assert found.orders == tuple(ORDERS)
    assert found.features == (*FEATURES, "output")
    assert found.readouts == READOUTS
    assert found.outputs("er") == ("output",)
    assert found.steps("offline") == (0, T)
    assert [found.places[""][place] for place in (1, 2, 3)] == list(BASE)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Matrices(ROWS).matrix("er", "conv", "linear"), "unknown feature of this analysis"),
        (lambda: Matrices(ROWS).matrix("er", "conv1", "lin"), "did you mean 'linear'"),
        (lambda: Matrices([replace(ROWS[0], place=9)]), "name 9 tasks, of which order 'a' has 1"),
        (lambda: Matrices([*ROWS, replace(ROWS[0], step=9)]), "is of step 9, and there are 3"),
    ],
)
def test_what_cannot_be_is_told(call, told):
    with pytest.raises(InputError, match=told):
        call()
