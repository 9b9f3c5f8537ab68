"""Traps of the papers' definitions, on tables worked out by hand."""

import numpy as np
import pytest

from probe.errors import InputError, NotMeasured
from probe.metrics import deep_shallow, kemker
from probe.metrics.matrix import AccuracyMatrix

R = AccuracyMatrix.square(
    [
        [0.8, 0.1, 0.2],
        [0.6, 0.4, 0.1],
        [0.2, 0.3, 0.5],
    ]
)
ONE = AccuracyMatrix.square([[0.75]])
# In tenths; what neither reads is above the diagonal, and row 2 below it.
A = AccuracyMatrix.square(
    np.array(
        [
            [10, 3, 1],
            [4, 9, 2],
            [2, 5, 10],
        ]
    )
    / 10
)
A_STAR = AccuracyMatrix.square(
    np.array(
        [
            [9, 7, 6],
            [9, 10, 7],
            [8, 7, 9],
        ]
    )
    / 10
)


def test_deep_and_shallow_forgetting_and_the_gap_have_the_values_worked_out_by_hand():
    assert deep_shallow.task_shallow_forgetting(A) == pytest.approx([0.8, 0.4])
    assert deep_shallow.task_deep_forgetting(A_STAR) == pytest.approx([0.1, 0.3])
    assert deep_shallow.shallow_forgetting(A) == pytest.approx(0.6)
    assert deep_shallow.deep_forgetting(A_STAR) == pytest.approx(0.2)
    assert deep_shallow.replay_gap(A, A_STAR) == pytest.approx(0.4)
    gaps = A.values.copy()
    gaps[2, 1] = np.nan
    for metric in (deep_shallow.deep_forgetting, deep_shallow.task_shallow_forgetting):
        with pytest.raises(NotMeasured, match=r"R\[2,2\]"):
            metric(AccuracyMatrix(gaps))


@pytest.mark.parametrize(
    "alpha",
    [
        kemker.alpha_base,
        kemker.alpha_new,
        kemker.alpha_all,
    ],
)
def test_an_alpha_exists_after_each_session_and_no_other(alpha):
    assert alpha(ONE, 1) == 0.75
    for i in (0, 4):
        with pytest.raises(InputError, match=rf"i = {i} .* tasks 1\.\.3"):
            alpha(R, i)
