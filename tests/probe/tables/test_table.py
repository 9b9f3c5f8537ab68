"""Tidy tables read back as they were written, bit for bit; a wrong cell is named."""

import csv
import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.tables.folder import KINDS
from probe.tables.rows import (
    FirstLayerRow,
    LayerRow,
    LearnerRow,
    MeasurementRow,
    MetricRow,
    NoteRow,
    SummaryRow,
)
from probe.tables.table_file import read_table, write_table

# What spreadsheets, shells and csv itself give a meaning to, and anything else that is Unicode.
nasty = st.sampled_from(
    ["=1+1", "'", '"', ",", "\n", "\r", "\r\n", "\0", "a,b", '"",', " ", "\ufeff", "nan"]
)
text = nasty | st.text(st.characters(codec="utf-8"), max_size=12) | st.lists(nasty).map("".join)
COSTS = "parameter_bytes,carried_bytes,stored_bytes,train_bytes,ops_one_pass,ops,kept_bytes"
# Other columns hold texts. Multiply-adds of a whole training lie past 2^53: a float rounds them.
HOLDS = {
    **dict.fromkeys(("seed", "tasks_seen", "epoch"), st.integers(0, 100_000)),
    **dict.fromkeys(("task_position", "depth", "seeds", "seeds_needed"), st.integers(1, 100_000)),
    **dict.fromkeys(("per_class", "total", *COSTS.split(",")), st.integers(0, 2**63 - 1)),
    **dict.fromkeys(("value", "mean", "low", "high", "margin", "control"), st.floats(-1e15, 1e15)),
    **dict.fromkeys(("std", "seconds", "loss", "accuracy"), st.floats(0, 1e15)),
    "metric": st.sampled_from(["accuracy", "pra", "f1"]),
}
COLUMNS = {
    "measurements": "scenario,network,learner,order,seed,tasks_seen,head,feature,depth,"
    "metric,task_position,task,value,readout",
    "summary": "learner,feature,depth,metric,task_position,mean,std,seeds",
    "metrics": "learner,paper,metric,head,mean,std,seeds,feature,readout",
    "learners": "learner,kind,per_class,total,sampling",
    "costs": f"learner,order,seed,tasks_seen,{COSTS}",
    "times": "learner,order,seed,tasks_seen,seconds",
    "notes": "learner,order,seed,feature,note,tasks_seen,readout",
    "layers": "learner,readout,feature,depth,task_position,quantity,value,low,high,seeds",
    "statements": "learner,readout,feature,depth,statement,verdict,margin,value,low,high,seeds",
    "statement_seeds": "learner,readout,feature,depth,statement,seed,value",
    "first_layer": "learner,readout,statement,first_possible,first_confirmed,seeds,seeds_needed",
    "retraining": "learner,order,seed,tasks_seen,feature,readout,epoch,loss,accuracy",
    "diagnostics": "learner,order,seed,tasks_seen,feature,depth,metric,value",
    "controls": "learner,readout,feature,depth,task_position,quantity,value,low,high,seeds,accuracy,"
    "control",
}
MAY_BE_NONE = {
    MeasurementRow: "depth,task_position",
    SummaryRow: "task_position",
    LearnerRow: "per_class,total",
    LayerRow: "task_position",
    KINDS["controls"]: "task_position",
    FirstLayerRow: "seeds_needed",
}
RUN = {
    "scenario": "digits",
    "network": "cnn3",
    "learner": "er",
    "order": "1",
    "seed": 0,
    "tasks_seen": 2,
}
PRA = MeasurementRow(**RUN, feature="conv1", depth=1, metric="pra", value=1 / 3)
kinds = st.sampled_from(list(KINDS.values()))


def rows_of(kind):
    """Return a strategy for rows of a kind, which may be any that its columns allow."""
    cells = {each.name: HOLDS.get(each.name, text) for each in fields(kind)}
    cells |= {c: st.none() | cells[c] for c in cells if c in MAY_BE_NONE.get(kind, "").split(",")}
    return st.builds(kind, **cells)


@given(kind=kinds, data=st.data())
def test_rows_read_back_as_they_were_written(tmp_path_factory, kind, data):
    """Bit for bit: two floats of one repr are the same, also -0.0."""
    rows = data.draw(st.lists(rows_of(kind), max_size=5))
    path = tmp_path_factory.mktemp("table") / "measurements.csv"
    write_table(path, kind, rows)
    assert repr(read_table(path, kind)) == repr(rows)


def test_the_columns_are_those_that_others_rely_on():
    assert {name: ",".join(each.name for each in fields(KINDS[name])) for name in KINDS} == COLUMNS


def test_the_bytes_of_a_table(tmp_path):
    """Empty cells for None and NaN, line feeds alone, numbers by repr, NumPy's as they are."""
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
    ("change", "reason"),
    [
        (
            {"learner": "er\ud800"},
            r"measurements\.csv cannot be written: 'er\\ud800' .* text of Unicode",
        ),
        ({"learner": None}, "None cannot be the value of learner, expected text"),
        ({"learner": "x" * (csv.field_size_limit() + 1)}, r"'xxx.*x\.\.\. cannot .* learner"),
        ({"tasks_seen": "1"}, "'1' cannot be the value of tasks_seen, expected a whole number"),
        ({"value": 10**400}, "1000.* cannot be the value of value, expected a number"),
        ({"value": math.inf}, r"inf cannot be the value of value, expected 1e\+15 or less"),
        ({"metric": "acc"}, "'acc' cannot be the value of metric, expected 'accuracy', 'pra'"),
    ],
)
def test_what_would_not_read_back_is_refused(tmp_path, change, reason):
    with pytest.raises(InputError, match=reason):
        write_table(tmp_path / "measurements.csv", MeasurementRow, [PRA, replace(PRA, **change)])


HEADER = f"{COLUMNS['metrics']}\n"
LINE = "er,gem,acc,all,0.5,0.1,1,,\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            HEADER.replace("feature,readout", "readout,feature"),
            "expected the columns learner,paper",
        ),
        (HEADER + "er,gem,acc,,0.5,0.1,1\n", "line 2 has 7 cells, expected 9"),
        (HEADER + "er,gem,acc,all,0.5,-0.1,1,,\n", "line 2: '-0.1' cannot be .* std.* 0 or more"),
        (HEADER + LINE + '"e\nr",gem,acc,all,x,y,z,,\n', "line 4: 'x' cannot .* mean.*`probe run`"),
        (b"\xff\xfe", "not a table of this study"),
        (None, "cannot be read .* run the study first"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path, content, reason):
    path = tmp_path / "metrics.csv"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=rf"metrics\.csv.*{reason}"):
        read_table(path, MetricRow)


def test_only_the_lines_that_are_wanted_become_rows_and_all_are_checked(tmp_path):
    path = tmp_path / "measurements.csv"
    rows = [replace(PRA, learner=name, seed=seed) for seed in (0, 1) for name in ("er", "gem")]
    write_table(path, MeasurementRow, rows)
    kept = read_table(
        path, MeasurementRow, lambda cells: cells["learner"] == "gem" and cells["seed"] == 1
    )
    assert kept == rows[3:]
    path.write_text(path.read_text().replace("er,1,0,", "er,1,none,"))
    with pytest.raises(
        InputError, match=r"measurements\.csv, line 2: 'none' cannot be the value of seed"
    ):
        read_table(path, MeasurementRow, lambda cells: cells["learner"] == "gem")
