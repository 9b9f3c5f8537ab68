"""A Dataset has every measurement at its names, and NaN wherever nothing was measured."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from probe.errors import InputError
from probe.tables.dataset import to_dataset
from probe.tables.matrices import Matrices
from tests.probe.tables.made_rows import BASE, FEATURES, ORDERS, READOUTS, study
from tests.probe.tables.test_table import PRA

xarray = pytest.importorskip("xarray")
RUN = ("learner", "order", "seed", "step")


def test_each_row_is_in_its_cell_and_nothing_else_is_there():
    rows, found = study(), to_dataset(study())
    counted = dict.fromkeys(("accuracy", "pra", "R"), 0)
    for row in rows:
        at = {name: getattr(row, name) for name in RUN}
        at |= {"task": row.task} if row.measure == "accuracy" else {}
        if row.measure == "accuracy" and not row.feature:
            assert found.R.sel(head=row.head, **at).item() == row.value
            counted["R"] += 1
            if row.head == "single":
                at_output = found.accuracy.sel(feature="output", **at)
                assert at_output.values.tolist() == [row.value] * len(READOUTS)
                counted["accuracy"] += len(READOUTS)
            continue
        array = found[row.measure].sel(feature=row.feature, **at)
        if row.readout:
            assert array.sel(readout=row.readout).item() == row.value
        else:
            assert array.values.tolist() == [row.value] * len(READOUTS)
        counted[row.measure] += 1 if row.readout else len(READOUTS)
    assert {name: int(found[name].notnull().sum()) for name in counted} == counted
    assert int(found.f1.notnull().sum()) == 0


def test_names_are_in_the_order_of_the_rows_and_features_by_depth():
    found = to_dataset(study()[::-1])
    assert found.feature.values.tolist() == [*FEATURES, "output"]
    assert found.task.values.tolist() == list(BASE)
    assert found.step.values.tolist() == [0, 1, 2, 3]
    assert found.seed.values.tolist() == [0, 1]
    assert found.accuracy.dims == (*RUN, "feature", "readout", "task")
    assert to_dataset(study()).learner.values.tolist() == ["er", "finetune", "offline", "untrained"]


def test_places_are_those_of_each_order():
    found = to_dataset(study())
    for order, tasks in {**ORDERS, "": BASE}.items():
        places = [found.place.sel(order=order, task=task).item() for task in tasks]
        assert places == [1, 2, 3]


def test_the_mean_over_orders_by_place_then_over_seeds_is_the_matrix():
    found, matrices = to_dataset(study(3)), Matrices(study(3))
    own = found.accuracy.sel(learner="er", feature="conv2", readout="linear", order=list(ORDERS))
    for place in (1, 2, 3):
        cells = own.where(own.place == place).mean("task").mean("order").mean("seed")
        expected = matrices.matrix("er", "conv2", "linear").values[1:, place - 1]
        np.testing.assert_allclose(cells.values[1:], expected, rtol=1e-12)


def test_what_is_there_twice_or_lacks_its_names_is_told():
    rows = study()
    with pytest.raises(InputError, match="two rows are the R of learner 'er', order 'a', seed 0"):
        to_dataset([*rows, rows[0]])
    with pytest.raises(InputError, match="measure 'pra' needs a feature, and has none"):
        to_dataset([replace(PRA, feature="")])


def test_a_step_of_an_earlier_version_is_the_last():
    rows = [row for row in study() if row.measure == "pra" and row.step == 3]
    plain = to_dataset([*rows, *[row for row in study() if row.head]])
    old = [replace(row, step=None) for row in rows]
    assert to_dataset([*old, *[row for row in study() if row.head]]).identical(plain)


def test_without_xarray_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"needs xarray, which is absent: pip install xarray$"):
        to_dataset(study())
