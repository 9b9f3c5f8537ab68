"""Accuracy matrices read from files; `tests/bad_input/matrices.py` has those that are refused."""

import csv
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, strategies as st
from hypothesis.extra.numpy import arrays

from probe.errors import InputError
from probe.metrics.matrix_file import read_matrix, read_matrix_file
from probe.metrics.scorecard import scorecard
from tests.bad_input.making import npy_header

SQUARE = np.array([[0.9, 0.1], [0.5, 0.8]])


def as_csv(table, gap=""):
    return "\n".join(
        ",".join(gap if np.isnan(cell) else repr(float(cell)) for cell in row)
        for row in table
    )


def write(directory, text):
    path = directory / "R.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read_text(
    directory,
    text,
    percent=False,
):
    return read_matrix(write(directory, text), percent)


def read_saved(
    directory,
    array,
    percent=False,
):
    path = directory / "R.npy"
    np.save(path, array)
    return read_matrix(path, percent)


cells = st.one_of(st.just(np.nan), st.floats(0, 1))
# With a gap as its first cell only, the first line and column could be labels.
tables = st.integers(2, 5).flatmap(
    lambda T: arrays(np.float64, (T + 1, T), elements=cells).filter(
        lambda R: not np.isnan(R).all() and np.isnan(R[0]).all() == np.isnan(R[0, 0])
    )
)


@given(table=tables)
def test_every_matrix_reads_back_bit_for_bit(tmp_path_factory, table):
    directory = tmp_path_factory.mktemp("matrix")
    try:
        texts = [read_text(directory, as_csv(table, gap)) for gap in ("", " NaN")]
    except InputError as error:
        if "the others: remove" not in str(error):
            raise
        reject()  # simple numbers are the mean of others by chance
    for R in (*texts, read_saved(directory, table)):
        assert np.array_equal(R.values, table, equal_nan=True)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff.9,.1\r\n.5,.8\r\n",
        ".9,.1\n.5,.8\n\n  \n\n",
        "  9e-1 ,\t.1\n.5 , +0.8",
    ],
)
def test_harmless_differences_in_the_text_are_allowed(tmp_path, text):
    values = read_text(tmp_path, text).values
    assert np.isnan(values[0]).all()
    assert np.array_equal(values[1:], SQUARE)


def test_percent_is_turned_into_fractions(tmp_path):
    whole = np.array([[90, 10], [50, 80]])
    assert read_text(tmp_path, as_csv(whole), percent=True).values[1:] == pytest.approx(
        SQUARE
    )
    assert read_saved(tmp_path, whole, percent=True).values[1:] == pytest.approx(SQUARE)


ROWS = np.array(
    [
        [90, 10, 20],
        [60, 70, 5],
        [35, 50, 86.4],
    ]
)
ROW_0 = np.vstack([[8.5, 12, 11], ROWS])


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        ROW_0,
        ROWS.round()[:2, :2].astype(int),
    ],
)
@pytest.mark.parametrize(
    "names",
    [
        range,
        lambda n: range(1, n + 1),
        lambda n: ["0-1"] * n,
    ],
)
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
def test_names_of_columns_and_rows_are_no_accuracies(
    tmp_path,
    table,
    names,
    header,
    labels,
    quoting,
):
    rows, columns = table.shape
    frame = pd.DataFrame(table, index=names(rows), columns=names(columns))
    frame.to_csv(
        tmp_path / "R.csv",
        header=header,
        index=labels,
        quoting=quoting,
    )
    R, reading = read_matrix_file(tmp_path / "R.csv", percent=True)
    assert R.values[-rows:] == pytest.approx(table / 100)
    how = (reading.unit, reading.header, reading.labels, reading.row_0, reading.notes)
    assert how == ("percent", header, labels, table is ROW_0, [])


def test_small_whole_numbers_may_be_accuracies(tmp_path):
    gap = read_text(tmp_path, ",1,2\n90,10,20\n60,70,5\n35,50,86", percent=True)
    assert np.array_equal(
        gap.values[0],
        [
            np.nan,
            0.01,
            0.02,
        ],
        equal_nan=True,
    )
    assert np.array_equal(read_text(tmp_path, "0,1\n1,0").values[1:], [[0, 1], [1, 0]])
    assert (
        read_text(tmp_path, ".99,.97,.98\n.98,.99,.98\n.99,.98,.98").values[3][0]
        == 0.99
    )
    labels = read_text(tmp_path, ",10,20\n10,50,60\n20,70,80", percent=True).values
    assert np.array_equal(labels[1:], [[0.5, 0.6], [0.7, 0.8]])


SUMMARIES = {
    "mean": lambda frame: frame.mean(),
    "std": lambda frame: frame.std(),
    "mean of earlier rows": lambda frame: frame[:-1].mean(),
    "mean over tasks learned": lambda frame: frame.where(np.tri(3, dtype=bool)).mean(),
}


@pytest.mark.parametrize("decimals", [9, 2, 0])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("name", SUMMARIES)
def test_a_row_of_means_is_no_row_of_r(
    tmp_path,
    decimals,
    lower,
    name,
):
    frame = pd.DataFrame(np.where(lower & ~np.tri(3, dtype=bool), np.nan, ROWS))
    frame.loc["mean"] = SUMMARIES[name](frame)
    with pytest.raises(InputError, match="means"):
        read_text(
            tmp_path,
            frame.round(decimals).to_csv(header=False, index=False),
            percent=True,
        )
    frame["mean"] = frame.mean(axis=1)
    for names in (True, False):
        with pytest.raises(
            InputError, match="'mean' beside" if names else "and column hold means"
        ):
            read_text(tmp_path, frame.to_csv(header=names, index=names), percent=True)


def test_a_long_table_is_no_matrix(tmp_path):
    with pytest.raises(InputError, match="'acc' beside"):
        read_text(tmp_path, "task,after,acc\n0,0,.9\n0,1,.7\n1,0,.1\n1,1,.8")


@pytest.mark.parametrize(
    "numbers",
    [
        (2, 3, 4),
        (10, 20, 30),
        (2, 0, 1),
        (5, 3, 4),
    ],
)
def test_numbers_in_steps_above_fractions_are_names(tmp_path, numbers):
    frame = pd.DataFrame(ROWS, columns=numbers)
    R, reading = read_matrix_file(
        write(tmp_path, frame.to_csv(index=False)), percent=True
    )
    assert R.values[1:] == pytest.approx(ROWS / 100)
    assert (reading.header, reading.row_0) == (True, False)
    whole = pd.DataFrame(ROWS.round().astype(int), columns=numbers).to_csv(index=False)
    assert read_matrix_file(write(tmp_path, whole), percent=True)[1].row_0


@pytest.mark.parametrize("above", [True, False])
def test_a_triangle_of_zeros_is_told_and_is_no_forward_transfer(tmp_path, above):
    np.savetxt(
        tmp_path / "R.csv", np.tril(ROWS) if above else np.triu(ROWS), delimiter=","
    )
    R, reading = read_matrix_file(tmp_path / "R.csv", percent=True)
    (note,) = reading.notes
    assert ("above" if above else "below") in note
    card = scorecard(R, forward=reading.forward).values
    assert (card["diaz_rodriguez"]["fwt"] is None) == above
    assert card["chaudhry"]["forgetting_since_learned"][-1] == pytest.approx(
        (0.9 - 0.35 + 0.7 - 0.5) / 2 if above else (0.9 + 0.7) / 2
    )
    assert (
        card["chaudhry"]["forgetting"] == card["chaudhry"]["forgetting_since_learned"]
    )
    fixed = card["diaz_rodriguez"]["fixed_accuracy"]
    assert [value is None for value in fixed] == [
        above,
        above,
        False,
    ]


def test_one_task_has_no_triangle(tmp_path):
    assert read_matrix_file(write(tmp_path, "0.5"))[1].notes == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("heavy.csv", (",".join([" " * 10**5 + ".5"] * 20) + "\n") * 20),
        ("wide.csv", "0," * 3000 + "0"),
        ("wide.npy", npy_header("(3000, 3000)", "'|u1'", bytes(9 * 10**6))),
        ("claims.npy", npy_header("(900, 900)", data=bytes(100))),
        ("pipe.csv", None),
    ],
)
def test_sizes_are_compared_with_a_limit_before_anything_is_read(
    tmp_path,
    name,
    content,
):
    path = tmp_path / name
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=name):
        read_matrix(path)


AVALANCHE = """eval_exp,training_exp,eval_accuracy,eval_loss,forgetting
0,None,0.1500,1.8158,0
1,None,0.3000,1.8149,0
0,0,0.8000,0.8649,0
1,0,0.0000,2.2969,0
0,1,0.0500,1.6549,0.7500
1,1,0.9500,0.8991,0
"""


@pytest.mark.parametrize(
    ("lines", "row_0"), [(slice(1, 7), [0.15, 0.3]), (slice(3, 7), [np.nan, np.nan])]
)
def test_a_log_of_avalanche_has_a_line_for_each_accuracy(tmp_path, lines, row_0):
    path = tmp_path / "eval_results.csv"
    header, *evaluations = AVALANCHE.splitlines(keepends=True)
    path.write_text(header + "".join([header, *evaluations][lines]))
    R, reading = read_matrix_file(path)
    np.testing.assert_array_equal(R.values, [row_0, [0.8, 0], [0.05, 0.95]])
    assert reading.header


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("0,1,0.0500", "0,0,0.0500", "experience 0 after 1"),
        ("0,1,0.0500", "0,2,0.0500", "3 experiences to train on, 2 to test on"),
        ("0.0500", "0", r"accuracy_metrics\(experience=True\)"),
        ("0,1,0.0500", "0,-1,0.0500", "0,-1"),
    ],
)
def test_a_log_of_avalanche_without_one_accuracy_a_cell_is_refused(
    tmp_path, old, new, value
):
    path = tmp_path / "eval_results.csv"
    path.write_text(AVALANCHE.replace(old, new))
    with pytest.raises(InputError, match=value):
        read_matrix(path)
