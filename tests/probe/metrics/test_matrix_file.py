"""Accuracy matrices read from files; `tests/bad_input/matrices.py` has those that are refused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from probe.metrics.matrix_file import read_matrix

SQUARE = np.array([[0.9, 0.1], [0.5, 0.8]])


def as_csv(table, gap=""):
    return "\n".join(
        ",".join(gap if np.isnan(cell) else repr(float(cell)) for cell in row) for row in table
    )


def read_text(directory, text, percent=False):
    path = directory / "R.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_matrix(path, percent)


def read_saved(directory, array, percent=False):
    path = directory / "R.npy"
    np.save(path, array)
    return read_matrix(path, percent)


cells = st.one_of(st.just(np.nan), st.floats(0, 1))


def measured(table):
    return not np.isnan(table).all()


tables = st.integers(2, 5).flatmap(
    lambda T: arrays(np.float64, (T + 1, T), elements=cells).filter(measured)
)


@given(table=tables)
def test_every_matrix_reads_back_bit_for_bit(tmp_path_factory, table):
    directory = tmp_path_factory.mktemp("matrix")
    texts = [read_text(directory, as_csv(table, gap)) for gap in ("", " NaN")]
    for R in (*texts, read_saved(directory, table)):
        assert np.array_equal(R.values, table, equal_nan=True)


@pytest.mark.parametrize(
    "text", ["\ufeff.9,.1\r\n.5,.8\r\n", ".9,.1\n.5,.8\n\n  \n\n", "  9e-1 ,\t.1\n.5 , +0.8"]
)
def test_harmless_differences_in_the_text_are_allowed(tmp_path, text):
    values = read_text(tmp_path, text).values
    assert np.isnan(values[0]).all()
    assert np.array_equal(values[1:], SQUARE)


def test_percent_is_turned_into_fractions(tmp_path):
    whole = np.array([[90, 10], [50, 80]])
    assert read_text(tmp_path, as_csv(whole), percent=True).values[1:] == pytest.approx(SQUARE)
    assert read_saved(tmp_path, whole, percent=True).values[1:] == pytest.approx(SQUARE)
