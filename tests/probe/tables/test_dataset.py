"""A Dataset has every measurement at its names, and NaN wherever nothing was measured."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from probe.errors import InputError
from probe.tables.dataset import to_dataset
from tests.probe.tables.made_rows import BASE, FEATURES, ORDERS, READOUTS, study
from tests.probe.tables.test_table import PRA

pytest.importorskip("xarray")
RUN = ("learner", "order", "seed", "tasks_seen")


def test_each_row_is_in_its_cell_and_nothing_else_is_there():
    rows, data = study(), to_dataset(study())
    counted = dict.fromkeys(("accuracy", "pra", "R", "f1"), 0)
    for row in rows:
        at = {name: getattr(row, name) for name in RUN}
        at |= {"task": row.task} if row.metric == "accuracy" else {}
        name, feature = row.metric, row.feature or "output"
        if not row.feature:
            assert data.R.sel(head=row.head, **at).item() == row.value
            counted["R"] += 1
        if row.head != "multi":
            readouts = [row.readout] if row.readout else list(READOUTS)
            cells = data[name].sel(feature=feature, readout=readouts, **at)
            assert cells.values.tolist() == [row.value] * len(readouts)
            counted[name] += len(readouts)
    assert {name: int(data[name].notnull().sum()) for name in counted} == counted


def test_names_are_in_the_order_of_the_rows_and_features_by_depth():
    data = to_dataset(study()[::-1])
    assert data.feature.values.tolist() == [*FEATURES, "output"]
    assert data.task.values.tolist() == list(BASE)
    assert data.tasks_seen.values.tolist() == [0, 1, 2, 3]
    assert data.accuracy.dims == (*RUN, "feature", "readout", "task")
    assert to_dataset(study()).learner.values.tolist() == ["er", "finetune", "offline", "untrained"]
    for order, tasks in {**ORDERS, "": BASE}.items():
        assert data.task_position.sel(order=order, task=list(tasks)).values.tolist() == [1, 2, 3]


def test_what_is_there_twice_or_lacks_its_names_is_told(monkeypatch):
    rows = study()
    with pytest.raises(InputError, match="two rows are the .* of learner 'er', order 'a', seed 0"):
        to_dataset([*rows, rows[0]])
    with pytest.raises(InputError, match="metric 'pra' needs a feature, and has none"):
        to_dataset([replace(PRA, feature="")])
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"needs xarray, which is absent: pip install xarray$"):
        to_dataset(rows)
