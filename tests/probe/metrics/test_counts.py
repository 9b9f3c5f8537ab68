"""Confusion counts, PRA and per-task micro-F1 against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
)

from probe.metrics.counts import Counts
from probe.metrics.murata import pra, task_f1

TASKS = [
    [4, 5],
    [0, 1, 2],
    [3],
]
CLASSES = 6

pairs = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=80
)


@given(pairs)
def test_counts_equal_scikit_learns_confusion_matrix(pairs):
    true, predicted = np.array(pairs).T
    counts = Counts.of(true, predicted, classes=5)
    assert np.array_equal(
        counts.table, confusion_matrix(true, predicted, labels=range(5))
    )
    assert counts.total == len(pairs)
    assert counts.accuracy() == pytest.approx(accuracy_score(true, predicted))


def test_no_examples_is_nan():
    assert np.isnan(Counts.of([0, 0], [0, 1], classes=3).accuracy([1, 2]))


def test_counts_are_a_copy_that_cannot_be_written():
    table = np.array([[3, 1], [0, 2]], dtype=">i2")
    counts = Counts(table)
    table[:] = 0
    assert counts.table.tolist() == [[3, 1], [0, 2]]
    with pytest.raises(ValueError, match="read-only"):
        counts.table[0, 0] = 7


@st.composite
def predictions(draw):
    """Labels in which every class occurs, and any predictions at all."""
    extra = draw(st.lists(st.integers(0, CLASSES - 1), max_size=60))
    true = [*range(CLASSES), *extra]
    predicted = draw(
        st.lists(st.integers(0, CLASSES - 1), min_size=len(true), max_size=len(true))
    )
    return np.array(true), np.array(predicted)


@given(predictions())
def test_task_f1_and_pra_equal_scikit_learns_micro_f1_and_accuracy(pair):
    true, predicted = pair
    expected = [
        f1_score(
            true,
            predicted,
            labels=classes,
            average="micro",
            zero_division=0.0,
        )
        for classes in TASKS
    ]
    counts = Counts.of(true, predicted, CLASSES)
    assert task_f1(counts, TASKS) == pytest.approx(expected)
    assert pra(counts) == pytest.approx(accuracy_score(true, predicted))
    for score, ours in (
        (recall_score, counts.accuracy),
        (precision_score, counts.precision),
    ):
        options = {"average": "micro", "zero_division": np.nan}
        values = [
            score(
                true,
                predicted,
                labels=classes,
                **options,
            )
            for classes in TASKS
        ]
        assert list(map(ours, TASKS)) == pytest.approx(values, nan_ok=True)
