"""Tidy tables read back as they were written, bit for bit."""

import csv
import math
import struct
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import InputError
from probe.tables.rows import (
    CostRow,
    DiagnosticRow,
    LayerRow,
    LearnerRow,
    MetricRow,
    NoteRow,
    RetrainingRow,
    Row,
    StartRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.table_file import read_table, write_table

# What spreadsheets, shells and csv itself give a meaning to, and anything else that is Unicode.
nasty = st.sampled_from(
    ["=1+1", "'", '"', ",", "\n", "\r", "\r\n", "\0", "a,b", '"",', " ", "\ufeff", "nan"]
)
text = nasty | st.text(st.characters(codec="utf-8"), max_size=12) | st.lists(nasty).map("".join)
value, spread = st.floats(-1e15, 1e15), st.floats(0, 1e15)
COSTS = ("parameter_bytes", "carried_bytes", "stored_bytes", "train_bytes")
COSTS += ("ops_one_pass", "ops", "kept_bytes")
# What each column can hold; those that are not named hold texts. Costs: multiply-adds of a whole
# training, past 2^53, a float would round.
HOLDS = {
    **dict.fromkeys(("seed", "step", "epoch"), st.integers(0, 100_000)),
    **dict.fromkeys(("place", "depth", "seeds"), st.integers(1, 100_000)),
    **dict.fromkeys(("per_class", "total", *COSTS), st.integers(0, 2**63 - 1)),
    **dict.fromkeys(("value", "mean", "low", "high", "margin"), value),
    **dict.fromkeys(("std", "seconds", "loss", "accuracy"), spread),
    "measure": st.sampled_from(["accuracy", "pra", "f1"]),
}
COLUMNS = {
    Row: "scenario,network,learner,order,seed,step,head,feature,depth,measure,place,task,value,"
    "readout",
    SummaryRow: "learner,feature,depth,measure,place,mean,std,seeds",
    MetricRow: "learner,paper,metric,head,mean,std,seeds,feature,readout",
    LearnerRow: "learner,kind,per_class,total,sampling",
    CostRow: f"learner,order,seed,step,{','.join(COSTS)}",
    TimeRow: "learner,order,seed,step,seconds",
    NoteRow: "learner,order,seed,feature,note,step,readout",
    LayerRow: "learner,readout,feature,depth,place,quantity,value,low,high,seeds",
    StartRow: "learner,readout,feature,earliest,margin,value,low,high,seeds",
    RetrainingRow: "learner,order,seed,step,feature,readout,epoch,loss,accuracy",
    DiagnosticRow: "learner,order,seed,step,feature,depth,measure,value",
}
# Those at the end of a row that came later: a table of an earlier version lacks them.
LATER = {Row: ("readout",), MetricRow: ("feature", "readout"), NoteRow: ("step", "readout")}
MAY_BE_NONE = {Row: ("step", "depth", "place"), SummaryRow: "place", LearnerRow: "per_class,total"}
MAY_BE_NONE |= {NoteRow: ("step",), LayerRow: ("place",)}


def rows_of(kind):
    """Return a strategy for rows of a kind, which may be any that its columns allow."""
    cells = {column: HOLDS.get(column, text) for column in COLUMNS[kind].split(",")}
    cells |= {c: st.none() | cells[c] for c in cells if c in MAY_BE_NONE.get(kind, ())}
    return st.builds(kind, **cells)


RUN = {"scenario": "digits", "network": "cnn3", "learner": "er", "order": "1", "seed": 0}
PRA = Row(**RUN, feature="conv1", depth=1, measure="pra", value=1 / 3)


@pytest.mark.parametrize("kind", COLUMNS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_rows_read_back_as_they_were_written(tmp_path_factory, kind, data):
    rows = data.draw(st.lists(rows_of(kind), max_size=5))
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    write_table(path, kind, rows)
    assert read_table(path, kind) == rows


@pytest.mark.parametrize("kind", LATER, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_tables_of_earlier_versions_are_read_with_the_defaults(tmp_path_factory, kind, data):
    """Whichever of the last columns they lack; of these alone there is a default."""
    row = data.draw(rows_of(kind))
    columns, later = COLUMNS[kind].split(","), LATER[kind]
    assert columns[-len(later) :] == list(later)
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    write_table(path, kind, [row])
    with path.open(newline="", encoding="utf-8") as file:
        header, cells = csv.reader(file)
    for lacking in range(len(later) + 2):
        with path.open("w", newline="", encoding="utf-8") as file:
            kept = slice(len(columns) - lacking)
            csv.writer(file).writerows([header[kept], cells[kept]])
        if lacking > len(later):
            with pytest.raises(InputError, match="expected the columns"):
                read_table(path, kind)
            continue
        lost = columns[len(columns) - lacking :]
        defaults = {each.name: each.default for each in fields(kind) if each.name in lost}
        assert read_table(path, kind) == [replace(row, **defaults)]
        assert set(defaults.values()) <= {None, ""}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_whose_lines_another_program_has_ended_reads_the_same(tmp_path, end):
    path = tmp_path / "rows.csv"
    write_table(path, Row, [PRA, replace(PRA, learner="gem")])
    content = path.read_bytes()
    assert content.count(b"\n") == 3
    assert b"\r" not in content
    path.write_bytes(content.replace(b"\n", end.encode()))
    assert read_table(path, Row) == [PRA, replace(PRA, learner="gem")]


@given(value=st.floats(-1e15, 1e15) | st.just(math.nan))
def test_every_float_reads_back_bit_for_bit(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    write_table(path, Row, [replace(PRA, value=value)])
    (row,) = read_table(path, Row)
    # A NaN's sign and payload say nothing; that of 0 does.
    assert (math.isnan(row.value) and math.isnan(value)) or (
        struct.pack("d", row.value) == struct.pack("d", value)
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"learner": "er\ud800"},
            r"rows\.csv cannot be written: 'er\\ud800' .* learner, expected text of Unicode",
        ),
        ({"learner": None}, "None cannot be the value of learner, expected text"),
        ({"learner": 3}, "3 cannot be the value of learner, expected text"),
        (
            {"learner": "x" * (csv.field_size_limit() + 1)},
            r"'xxx.*x\.\.\. cannot .* learner, expected",
        ),
        ({"seed": None}, "None cannot be the value of seed, expected a whole number"),
        ({"seed": 1.0}, "1.0 cannot be the value of seed, expected a whole number"),
        ({"step": "1"}, "'1' cannot be the value of step, expected a whole number"),
        ({"step": math.nan}, "nan cannot be the value of step, expected a"),
        ({"value": None}, "None cannot be the value of value, expected a number"),
        ({"value": "0.5"}, "'0.5' cannot be the value of value, expected a number"),
        ({"value": 10**400}, "1000.* cannot be the value of value, expected a number"),
        ({"value": 1j}, "1j cannot be the value of value, expected a number"),
        ({"value": math.inf}, r"inf cannot be the value of value, expected 1e\+15 or less"),
        ({"value": -1.1e15}, r"-11\S+ cannot be the value of value, expected -1e\+15 or more"),
        ({"seed": -1}, "-1 cannot be the value of seed, expected 0 or more"),
        ({"step": 100_001}, "100001 cannot be the value of step, expected 100000 or less"),
        ({"place": 0}, "0 cannot be the value of place, expected 1 or more"),
        ({"depth": 10**21}, "10+ cannot be the value of depth, expected 100000 or less"),
        ({"measure": "acc"}, "'acc' cannot be the value of measure, expected 'accuracy', 'pra'"),
    ],
)
def test_what_would_not_read_back_is_refused(tmp_path, change, reason):
    with pytest.raises(InputError, match=reason):
        write_table(tmp_path / "rows.csv", Row, [PRA, replace(PRA, **change)])


def test_a_text_as_long_as_can_be_read_is_written(tmp_path):
    row = replace(PRA, learner="x" * csv.field_size_limit())
    write_table(tmp_path / "rows.csv", Row, [row])
    assert read_table(tmp_path / "rows.csv", Row) == [row]


def test_the_columns_are_those_that_others_rely_on():
    assert {kind: ",".join(field.name for field in fields(kind)) for kind in COLUMNS} == COLUMNS


def test_cells_that_do_not_apply_are_empty(tmp_path):
    write_table(tmp_path / "rows.csv", Row, [PRA])
    with (tmp_path / "rows.csv").open(newline="") as file:
        line = next(csv.DictReader(file))
    assert [name for name, cell in line.items() if not cell] == [
        "step",
        "head",
        "place",
        "task",
        "readout",
    ]
    assert float(line["value"]) == 1 / 3


def test_nan_is_an_empty_cell_and_reads_back_as_nan(tmp_path):
    row = MetricRow(
        learner="er", paper="gem", metric="acc", head="single", mean=0.5, std=math.nan, seeds=1
    )
    write_table(tmp_path / "metrics.csv", MetricRow, [row])
    assert (tmp_path / "metrics.csv").read_text().splitlines()[1] == "er,gem,acc,single,0.5,,1,,"
    assert math.isnan(read_table(tmp_path / "metrics.csv", MetricRow)[0].std)


def test_scalars_of_other_types_are_written_as_plain_numbers(tmp_path):
    written = replace(PRA, value=np.float64(0.1), seed=np.int64(3), step=np.int32(1))
    write_table(tmp_path / "rows.csv", Row, [written, replace(PRA, value=np.float32(0.1))])
    expected = [replace(PRA, value=0.1, seed=3, step=1), replace(PRA, value=0.10000000149011612)]
    assert read_table(tmp_path / "rows.csv", Row) == expected


ALL = f"{COLUMNS[MetricRow]}\n"
HEADER = "learner,paper,metric,head,mean,std,seeds\n"  # of an earlier version
LINE = "er,gem,acc,all,0.5,0.1,1\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "expected the columns learner,paper"),
        ("learner,metric\n", "expected the columns learner,paper"),
        (HEADER + "er,gem,acc,,0.5,0.1,1,2\n", "line 2 has 8 cells, expected 7"),
        (HEADER + "er,gem,acc,all,-inf,0.1,1\n", "line 2: '-inf' cannot be .* mean"),
        (HEADER + "er,gem,acc,all,0.5,inf,1\n", "line 2: 'inf' cannot be .* std"),
        (HEADER + "er,gem,acc,all,0.5,-0.1,1\n", "line 2: '-0.1' cannot be .* 0 or more"),
        (HEADER + 2 * LINE + "er,gem,acc,all,0.5,0.1\n", "line 4 has 6 cells"),
        (HEADER + 2 * LINE + "er,gem,acc,all,0.5,0.1,er\n", "line 4: 'er' .* of seeds"),
        (HEADER + 2 * LINE + "er,gem,acc,all,0.5,0.1,\n", "line 4: '' .* of seeds"),
        (HEADER + LINE + "er,gem,acc,all,x,y,z\n", "line 3: 'x' cannot .* mean"),
        (ALL + LINE, "line 2 has 7 cells, expected 9"),
        (ALL + "er,gem,acc,all,0.5,0.1,1,conv1\n", "line 2 has 8 cells, expected 9"),
        (HEADER.replace("seeds", "feature"), "expected the columns learner,paper"),
        (ALL.replace("feature,readout", "readout,feature"), "expected the columns learner,paper"),
        (ALL.replace("readout", "readout,more"), "expected the columns learner,paper"),
        (b"\xff\xfe", "not a table of this study"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path, content, reason):
    path = tmp_path / "metrics.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=rf"metrics\.csv.*{reason}"):
        read_table(path, MetricRow)


def test_a_table_that_is_not_there_says_to_run_the_study(tmp_path):
    with pytest.raises(InputError, match=r"rows\.csv cannot be read .* run the study first"):
        read_table(tmp_path / "rows.csv", Row)


def test_the_same_text_is_kept_in_memory_once(tmp_path):
    write_table(tmp_path / "rows.csv", Row, 2 * [replace(PRA, learner="er-with-a-long-name")])
    first, second = read_table(tmp_path / "rows.csv", Row)
    assert first.learner is second.learner


def test_only_the_lines_that_are_wanted_become_rows_and_all_are_checked(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [replace(PRA, learner=name, seed=seed) for seed in (0, 1) for name in ("er", "gem")]
    write_table(path, Row, rows)
    kept = read_table(path, Row, lambda cells: cells["learner"] == "gem" and cells["seed"] == 1)
    assert kept == rows[3:]
    path.write_text(path.read_text().replace("er,1,0,", "er,1,none,"))
    with pytest.raises(InputError, match=r"rows\.csv, line 2: 'none' cannot be the value of seed"):
        read_table(path, Row, lambda cells: cells["learner"] == "gem")


@pytest.mark.parametrize("most", [0, 1, 3])
def test_texts_are_read_the_same_however_few_are_remembered(tmp_path, monkeypatch, most):
    monkeypatch.setattr("probe.tables.table_file._MOST_KNOWN", most)
    rows = [replace(PRA, learner=f"er{k % 3}", place=1 + k % 2, value=k / 7) for k in range(9)]
    write_table(tmp_path / "rows.csv", Row, [*rows, replace(PRA, value=-0.0)])
    *read, zero = read_table(tmp_path / "rows.csv", Row)
    assert (read, math.copysign(1, zero.value)) == (rows, -1)
