"""A Dataset has every measurement at its names, and NaN wherever nothing was measured."""

from __future__ import annotations

import pytest

from probe.tables.dataset import to_dataset
from tests.probe.tables.made_rows import READOUTS, study

pytest.importorskip("xarray")
RUN = ("learner", "order", "seed", "step")


def test_each_row_is_in_its_cell_and_nothing_else_is_there():
    rows, data = study(), to_dataset(study())
    counted = dict.fromkeys(("accuracy", "pra", "R", "f1"), 0)
    for row in rows:
        at = {name: getattr(row, name) for name in RUN}
        at |= {"task": row.task} if row.measure == "accuracy" else {}
        name, feature = row.measure, row.feature or "output"
        if not row.feature:
            assert data.R.sel(head=row.head, **at).item() == row.value
            counted["R"] += 1
        if row.head != "multi":
            readouts = [row.readout] if row.readout else list(READOUTS)
            cells = data[name].sel(feature=feature, readout=readouts, **at)
            assert cells.values.tolist() == [row.value] * len(readouts)
            counted[name] += len(readouts)
    assert {name: int(data[name].notnull().sum()) for name in counted} == counted
