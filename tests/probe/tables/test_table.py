"""Tables come back as they were out of a CSV, bit for bit; a wrong cell is named."""

import gzip
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.tables.schemas import SCHEMAS, TEXT
from probe.tables.table_file import (
    checked,
    new_table,
    read_table,
    table_file,
    write_table,
)
from tests.probe.tables.made_rows import PRA, study

# What spreadsheets, shells and csv itself give a meaning to, and anything else that is
# Unicode.
nasty = st.sampled_from(
    [
        "=1+1",
        "'",
        '"',
        ",",
        "\n",
        "\r",
        "\r\n",
        "\0",
        "a,b",
        '"",',
        " ",
        "\ufeff",
        "nan",
        "NA",
        "0",
    ]
)
text = (
    nasty
    | st.text(st.characters(codec="utf-8"), max_size=12)
    | st.lists(nasty).map("".join)
)


def cells_of(kind):
    """Return a strategy for the cells of a column: whole numbers past 2^53 are no floats."""
    if kind.choices:
        return st.sampled_from(kind.choices)
    if kind.dtype == TEXT.dtype:
        return text
    if kind.dtype == "float64":
        return st.floats(kind.least, kind.most) | st.just(math.nan)
    whole = st.integers(kind.least, kind.most)
    if kind.dtype == "Int64":
        whole |= st.none()
    return whole


@given(name=st.sampled_from(list(SCHEMAS)), data=st.data())
def test_a_table_comes_back_as_it_was(tmp_path_factory, name, data):
    """Bit for bit: two floats of one repr are the same, also -0.0."""
    rows = data.draw(
        st.lists(st.tuples(*map(cells_of, SCHEMAS[name].values())), max_size=5)
    )
    table = new_table(name, rows)
    path = tmp_path_factory.mktemp("table") / "t.csv"
    write_table(path, name, table)
    compressed = path.with_name("u.csv.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert table_file(path.parent, "u") == compressed
    for again in (
        read_table(path, name),
        read_table(compressed, name),
        checked(table, name, str),
    ):
        pd.testing.assert_frame_equal(again, table, check_exact=True)
        assert repr(again.to_numpy().tolist()) == repr(table.to_numpy().tolist())


def test_the_bytes_of_a_table(tmp_path):
    """Empty cells for None and NaN, only line feeds, numbers by repr, NumPy's as they are."""
    path = tmp_path / "measurements.csv"
    rows = [
        PRA,
        {
            **PRA,
            "value": np.float32(0.1),
            "seed": np.int64(3),
            "task": "a\rb",
        },
    ]
    table = new_table("measurements", [*rows, {**PRA, "value": math.nan}])
    write_table(path, "measurements", table)
    content = path.read_bytes()
    assert content.decode().split("\n")[1:] == [
        "digits,cnn3,er,1,0,2,,conv1,1,pra,,,0.3333333333333333,",
        'digits,cnn3,er,1,3,2,,conv1,1,pra,,"a\rb",0.10000000149011612,',
        "digits,cnn3,er,1,0,2,,conv1,1,pra,,,,",
        "",
    ]
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    assert read_table(path, "measurements").equals(table)


TABLE = new_table("measurements", [PRA, PRA])


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (TABLE.assign(learner="er\ud800"), r"ud800"),
        (TABLE.assign(tasks_seen=[1, "x"]), "row 1.*'x'.*tasks_seen"),
        (TABLE.assign(seed=[0, -1]), "row 1.*-1.*seed"),
        (TABLE.assign(seed=[None, 1]), "row 0.*seed"),
        (TABLE.assign(value=[0.1, math.inf]), "inf.*value"),
        (TABLE.assign(metric="acc"), "'acc'.*metric"),
        ([PRA], "DataFrame, got list"),
        (pd.concat([TABLE, TABLE[["seed"]]], axis=1), "seed"),
        (new_table("layers"), "scenario, network"),
    ],
)
def test_what_would_not_read_back_is_refused(tmp_path, table, named):
    with pytest.raises(InputError, match=named):
        write_table(tmp_path / "measurements.csv", "measurements", table)


HEADER = ",".join(SCHEMAS["metrics"]) + "\n"
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
        read_table(path, "metrics")


def test_a_frame_may_be_filtered_sorted_widened_and_read_from_a_csv(tmp_path):
    """pandas reads an order named 0 as a number, empty texts as gaps, and depths as floats."""
    table = study()
    table["order"] = table["order"].replace({"a": "0", "b": "1"})
    chosen = table[table["learner"] == "er"].sort_values("value")
    chosen.assign(mine=1.0)[["mine", *table.columns[::-1]]].to_csv(tmp_path / "t.csv")
    again = checked(pd.read_csv(tmp_path / "t.csv"), "measurements", str)
    pd.testing.assert_frame_equal(again, chosen.reset_index(drop=True))
