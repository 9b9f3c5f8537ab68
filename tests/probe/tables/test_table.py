"""Rows come back as they were out of a CSV and a DataFrame, bit for bit; a wrong cell is named."""

import gzip
import math
from dataclasses import fields, replace
from typing import get_args, get_type_hints

import numpy as np
import pandas
import pytest
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.tables.folder import KINDS
from probe.tables.frames import rows_of_frame, to_frame
from probe.tables.rows import LayerRow, MeasurementRow, MetricRow
from probe.tables.table_file import read_table, table_file, write_table
from tests.probe.tables.made_rows import PRA, study

# What spreadsheets, shells and csv itself give a meaning to, and anything else that is Unicode.
nasty = st.sampled_from(
    ["=1+1", "'", '"', ",", "\n", "\r", "\r\n", "\0", "a,b", '"",', " ", "\ufeff", "nan"]
)
text = nasty | st.text(st.characters(codec="utf-8"), max_size=12) | st.lists(nasty).map("".join)
costs = [f"{name}_bytes" for name in ("parameter", "carried", "stored", "train", "kept")]
# Other columns hold texts. Multiply-adds of a whole training lie past 2^53: a float rounds them.
HOLDS = {
    **dict.fromkeys(("seed", "tasks_seen", "epoch"), st.integers(0, 100_000)),
    **dict.fromkeys(("task_position", "depth", "seeds", "seeds_needed"), st.integers(1, 100_000)),
    **dict.fromkeys(("per_class", "total", "ops", "ops_one_pass"), st.integers(0, 2**63 - 1)),
    **dict.fromkeys(costs, st.integers(0, 2**63 - 1)),
    **dict.fromkeys(("value", "mean", "low", "high", "margin", "control"), st.floats(-1e15, 1e15)),
    **dict.fromkeys(("std", "seconds", "loss", "accuracy"), st.floats(0, 1e15)),
    "metric": st.sampled_from(["accuracy", "pra", "f1"]),
}  # fmt: skip


def rows_of(kind):
    """Return a strategy for rows of a kind, which may be any that its columns allow."""
    cells = {
        name: st.none() | HOLDS[name] if type(None) in get_args(hint) else HOLDS.get(name, text)
        for name, hint in get_type_hints(kind).items()
    }
    return st.builds(kind, **cells)


@given(kind=st.sampled_from(list(KINDS.values())), data=st.data())
def test_rows_come_back_as_they_were(tmp_path_factory, kind, data):
    """Bit for bit: two floats of one repr are the same, also -0.0."""
    rows = data.draw(st.lists(rows_of(kind), max_size=5))
    path = tmp_path_factory.mktemp("table") / "t.csv"
    write_table(path, kind, rows)
    assert repr(read_table(path, kind)) == repr(rows)
    compressed = path.with_name("u.csv.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert table_file(path.parent, "u") == compressed
    assert repr(read_table(compressed, kind)) == repr(rows)
    frame = to_frame(rows, kind)
    assert list(frame.columns) == [column.name for column in fields(kind)]
    assert repr(rows_of_frame(frame, kind)) == repr(rows)


def test_the_bytes_of_a_table(tmp_path):
    """Empty cells for None and NaN, only line feeds, numbers by repr, NumPy's as they are."""
    path = tmp_path / "measurements.csv"
    written = [PRA, replace(PRA, value=np.float32(0.1), seed=np.int64(3), task="a\rb")]
    write_table(path, MeasurementRow, [*written, replace(PRA, value=math.nan)])
    content = path.read_bytes()
    assert content.decode().split("\n")[1:] == [
        "digits,cnn3,er,1,0,2,,conv1,1,pra,,,0.3333333333333333,",
        'digits,cnn3,er,1,3,2,,conv1,1,pra,,"a\rb",0.10000000149011612,',
        "digits,cnn3,er,1,0,2,,conv1,1,pra,,,,",
        "",
    ]
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    first, second, third = read_table(path, MeasurementRow)
    assert (first, second) == (PRA, replace(PRA, value=0.10000000149011612, seed=3, task="a\rb"))
    assert math.isnan(third.value)
    assert first.learner is second.learner  # in memory once


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"learner": "er\ud800"}, r"measurements\.csv.*er\\ud800.*text of Unicode"),
        ({"learner": None}, "None.*learner"),
        ({"tasks_seen": "1"}, "'1'.*tasks_seen"),
        ({"value": math.inf}, "inf.*value"),
        ({"metric": "acc"}, "'acc'.*metric"),
    ],
)
def test_what_would_not_read_back_is_refused(tmp_path, change, named):
    with pytest.raises(InputError, match=named):
        write_table(tmp_path / "measurements.csv", MeasurementRow, [PRA, replace(PRA, **change)])


HEADER = ",".join(column.name for column in fields(MetricRow)) + "\n"
LINE = "er,gem,acc,all,0.5,0.1,1,,\n"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (HEADER.replace("feature,readout", "readout,feature"), "learner,paper"),
        (HEADER + "er,gem,acc,,0.5,0.1,1\n", "line 2.* 7 .*9"),
        (HEADER + LINE + '"e\nr",gem,acc,all,x,y,z,,\n', "line 4: 'x'.* mean"),
        ("\udcff", "not a table"),
        (None, "run the study first"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path, content, named):
    path = tmp_path / "metrics.csv"
    if content is not None:
        path.write_text(content, "utf-8", "surrogateescape")
    with pytest.raises(InputError, match=rf"metrics\.csv.*{named}"):
        read_table(path, MetricRow)


def test_only_the_lines_that_are_wanted_become_rows_and_all_are_checked(tmp_path):
    path = tmp_path / "measurements.csv"
    rows = [replace(PRA, learner=name, seed=seed) for seed in (0, 1) for name in ("er", "gem")]
    write_table(path, MeasurementRow, rows)
    assert read_table(path, MeasurementRow, lambda cells: cells["learner"] == "gem") == rows[1::2]
    path.write_text(path.read_text().replace("er,1,0,", "er,1,none,"))
    with pytest.raises(InputError, match=r"line 2: 'none'.*seed"):
        read_table(path, MeasurementRow, lambda cells: cells["learner"] == "gem")


def test_a_frame_may_be_filtered_sorted_and_widened():
    rows, frame = study(), to_frame(study())
    frame["mine"] = 1.0
    chosen = frame[(frame.learner == "er") & (frame.metric == "pra")].sort_values("value")
    expected = [row for row in rows if (row.learner, row.metric) == ("er", "pra")]
    assert rows_of_frame(chosen[chosen.columns[::-1]]) == sorted(expected, key=lambda r: r.value)


FRAME = to_frame([PRA, PRA])


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (FRAME.assign(seed=[0, -1]), "row 1.*'-1'.*seed"),
        (FRAME.assign(value=[0.1, float("inf")]), "'inf'.*value"),
        (FRAME.assign(seed=[None, 1]), "row 0.*seed"),
        ([PRA], "DataFrame, got list"),
        (pandas.concat([FRAME, FRAME[["seed"]]], axis=1), "seed"),
        (to_frame([], LayerRow), "scenario, network"),
    ],
)
def test_what_is_no_frame_of_rows_is_refused(frame, named):
    with pytest.raises(InputError, match=named):
        rows_of_frame(frame)
