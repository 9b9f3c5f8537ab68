"""PRA and per-task micro-F1 against scikit-learn, and by hand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import accuracy_score, f1_score

from probe.metrics.counts import Counts
from probe.metrics.murata import pra, task_f1

TASKS = [[4, 5], [0, 1, 2], [3]]
CLASSES = 6


@st.composite
def predictions(draw):
    """Labels in which every class occurs, and any predictions at all."""
    extra = draw(st.lists(st.integers(0, CLASSES - 1), max_size=60))
    true = [*range(CLASSES), *extra]
    predicted = draw(st.lists(st.integers(0, CLASSES - 1), min_size=len(true), max_size=len(true)))
    return np.array(true), np.array(predicted)


@given(predictions())
def test_task_f1_and_pra_equal_scikit_learns_micro_f1_and_accuracy(pair):
    true, predicted = pair
    expected = [
        f1_score(true, predicted, labels=classes, average="micro", zero_division=0.0)
        for classes in TASKS
    ]
    counts = Counts.of(true, predicted, CLASSES)
    assert task_f1(counts, TASKS) == pytest.approx(expected)
    assert pra(counts) == pytest.approx(accuracy_score(true, predicted))
