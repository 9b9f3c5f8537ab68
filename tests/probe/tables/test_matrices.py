"""Accuracy matrices and Datasets out of rows, against plain loops over the rows."""

import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest

from probe.errors import InputError
from probe.tables.dataset import to_dataset
from probe.tables.matrices import Matrices, mean_accuracies
from probe.tables.table_file import new_table, records
from tests.probe.tables.made_rows import BASE, FEATURES, ORDERS, PRA, READOUTS, T, study

SEEDS = 3
ROWS = study(SEEDS)
VALUES = {
    (r.learner, r.order, r.seed, r.tasks_seen, r.feature, r.readout, r.task): r.value
    for r in ROWS.query("metric == 'accuracy' and feature != ''").itertuples()
}
RUN = ("learner", "order", "seed", "tasks_seen")


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
    single = mean_accuracies(ROWS[ROWS["head"] == "single"])
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


def test_each_row_is_in_its_cell_of_a_dataset_and_nothing_else_is_there():
    pytest.importorskip("xarray")
    rows = study()
    data = to_dataset(study())
    cells_of = dict.fromkeys(("accuracy", "pra", "R", "f1"), 0)
    for row in records(rows):
        at = {name: getattr(row, name) for name in RUN}
        at |= {"task": row.task} if row.metric == "accuracy" else {}
        if not row.feature:
            assert data.R.sel(head=row.head, **at).item() == row.value
            cells_of["R"] += 1
        if row.head != "multi":
            readouts = [*READOUTS]
            if row.readout:
                readouts = [row.readout]
            layer = {"feature": row.feature or "output", "readout": readouts}
            cells = data[row.metric].sel(**layer, **at)
            assert cells.values.tolist() == [row.value] * len(readouts)
            cells_of[row.metric] += len(readouts)
    assert {name: int(data[name].notnull().sum()) for name in cells_of} == cells_of


def test_names_of_a_dataset_are_in_the_order_of_the_rows_and_features_by_depth():
    pytest.importorskip("xarray")
    data = to_dataset(study()[::-1])
    assert data.feature.values.tolist() == [*FEATURES, "output"]
    assert data.task.values.tolist() == list(BASE)
    assert data.tasks_seen.values.tolist() == [0, 1, 2, 3]
    assert data.accuracy.dims == (*RUN, "feature", "readout", "task")
    assert to_dataset(study()).learner.values.tolist() == [
        "er",
        "finetune",
        "offline",
        "untrained",
    ]
    for order, tasks in {**ORDERS, "": BASE}.items():
        assert data.task_position.sel(
            order=order, task=list(tasks)
        ).values.tolist() == [1, 2, 3]


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
        (lambda: to_dataset(with_row()), "'er', order 'a', seed 0 after 0 tasks"),
        (
            lambda: to_dataset(new_table("measurements", [{**PRA, "feature": ""}])),
            "'pra' needs a feature",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()


def test_without_xarray_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"pip install xarray$"):
        to_dataset(ROWS)
