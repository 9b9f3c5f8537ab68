"""The accuracy matrix: its cells, its rows, and gaps that never turn into numbers."""

import numpy as np
import pytest
import torch

from probe.cut.interface import check_trainable
from probe.errors import InputError, NotMeasured
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix

VALUES = np.array(
    [
        [0.1, 0.2],
        [0.3, np.nan],
        [0.5, 0.6],
    ]
)
R = AccuracyMatrix(VALUES)


def test_row_is_tasks_learned_so_far_and_columns_count_from_one():
    assert R.tasks == 2
    assert (R.measured(0, 1), R.measured(2, 1)) == (0.1, 0.5)
    assert (R.cell(0, 1), R.cell(2, 2)) == (0.1, 0.6)
    assert np.array_equal(R.measured(2, [1, 2]), [0.5, 0.6])
    assert np.array_equal(R.measured([[0], [2]], [1, 2]), [[0.1, 0.2], [0.5, 0.6]])


def test_the_first_missing_cell_is_named():
    with pytest.raises(
        NotMeasured, match=r"R\[1,2\] \(task 2 after task 1\) was not measured"
    ):
        R.measured([0, 1, 2], 2)
    with pytest.raises(
        NotMeasured, match=r"R\[2,1\] \(task 1 after task 2\) was not measured"
    ):
        AccuracyMatrix.square([[0.5, 0.5], [np.nan, 0.5]]).seen(2)


def test_the_values_are_a_copy_that_cannot_be_written():
    values = np.zeros((2, 1))
    R = AccuracyMatrix(values)
    values[0, 0] = 1
    assert R.measured(0, 1) == 0
    with pytest.raises(ValueError, match="read-only"):
        R.values[0, 0] = 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: AccuracyMatrix(torch.zeros(2, 1, requires_grad=True)),
        lambda: AccuracyMatrix([[10**400], [0]]),
        lambda: AccuracyMatrix([[1j], [0]]),
        lambda: Counts(torch.zeros(2, 2, requires_grad=True)),
        lambda: AccuracyMatrix([[0.5], [0.5]]).measured(1.5, 1),
        lambda: AccuracyMatrix([[0.5], [0.5]]).check_task([1]),
        lambda: Counts([[0, 1], [9]]),
        lambda: check_trainable(3),
    ],
)
def test_values_of_another_kind_are_refused(call):
    with pytest.raises(InputError):
        call()


def test_a_masked_cell_was_not_measured():
    cells = np.ma.masked_array([[0.5, 0.1], [0.2, 0.9]], [[0, 1], [0, 0]])
    values = AccuracyMatrix.of(cells).values
    np.testing.assert_array_equal(values[1:], [[0.5, np.nan], [0.2, 0.9]])


def test_rows_of_different_lengths_are_refused():
    for build in (AccuracyMatrix, AccuracyMatrix.of, AccuracyMatrix.square):
        with pytest.raises(InputError, match=r"\[\[0.1, 0.2\], \[0.3\]\]"):
            build([[0.1, 0.2], [0.3]])
