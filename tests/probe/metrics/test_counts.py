"""Confusion counts against scikit-learn, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix

from probe.metrics.counts import ConfusionCounts, Counts

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=80)


@given(pairs)
def test_counts_equal_scikit_learns_confusion_matrix(pairs):
    true, predicted = np.array(pairs).T
    counts = Counts.of(true, predicted, classes=5)
    assert np.array_equal(counts.table, confusion_matrix(true, predicted, labels=range(5)))
    assert counts.total == len(pairs)
    assert counts.accuracy() == pytest.approx(accuracy_score(true, predicted))


def test_no_examples_is_nan():
    assert np.isnan(Counts.of([0, 0], [0, 1], classes=3).accuracy([1, 2]))


@pytest.mark.parametrize("kind", ["<u4", ">i2"])
def test_many_tables_at_once_give_the_counts_that_each_alone_gives(kind):
    tables = np.random.default_rng(0).integers(0, 99, (7, 3, 3)).astype(kind)
    expected = tuple(map(Counts, tables))
    each = ConfusionCounts.joined(expected)
    tables[:] = 0
    assert each == expected
    assert {counts.table.dtype for counts in each} == {np.dtype(np.int64)}
    for counts in (each[3], expected[3]):
        with pytest.raises(ValueError, match="read-only"):
            counts.table[0, 0] = 7
