"""A DataFrame holds what the rows hold, and gives them back bit for bit."""

from __future__ import annotations

from dataclasses import fields

import pandas
import pytest
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.tables.frames import rows_of_frame, to_frame
from probe.tables.rows import LayerRow
from tests.probe.tables.made_rows import study
from tests.probe.tables.test_table import PRA, kinds, rows_of


@given(kind=kinds, data=st.data())
def test_rows_come_back_as_they_were(kind, data):
    rows = data.draw(st.lists(rows_of(kind), max_size=4))
    frame = to_frame(rows, kind)
    assert list(frame.columns) == [each.name for each in fields(kind)]
    assert repr(rows_of_frame(frame, kind)) == repr(rows)


def test_a_frame_may_be_filtered_sorted_and_widened():
    rows, frame = study(), to_frame(study())
    frame["mine"] = 1.0
    chosen = frame[(frame.learner == "er") & (frame.metric == "pra")].sort_values("value")
    expected = [row for row in rows if (row.learner, row.metric) == ("er", "pra")]
    assert rows_of_frame(chosen[chosen.columns[::-1]]) == sorted(expected, key=lambda r: r.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": [0, -1]}, "row 1 of the DataFrame: '-1' cannot be the value of seed"),
        ({"value": [0.1, float("inf")]}, "'inf' cannot be the value of value"),
        ({"metric": ["pra", "acc"]}, "'acc' cannot be the value of metric"),
        ({"seed": [None, 1]}, "row 0 of the DataFrame: '' cannot be the value of seed"),
    ],
)
def test_a_cell_that_cannot_be_is_told_with_its_row(change, told):
    with pytest.raises(InputError, match=told):
        rows_of_frame(to_frame([PRA, PRA]).assign(**change))


def test_what_is_no_frame_of_rows_is_told():
    with pytest.raises(InputError, match="expected a pandas DataFrame, got list"):
        rows_of_frame([PRA])
    doubled = pandas.concat([to_frame([PRA]), to_frame([PRA])[["seed"]]], axis=1)
    with pytest.raises(InputError, match="seed"):
        rows_of_frame(doubled)
    with pytest.raises(InputError, match="LayerRow.* readout, feature"):
        rows_of_frame(to_frame([], LayerRow).drop(columns=["readout", "feature"]), LayerRow)
