"""Chaudhry's worked example, and the traps of forgetting and intransigence."""

import numpy as np
import pytest

from probe.metrics import chaudhry
from probe.metrics.matrix import AccuracyMatrix

WORKED_EXAMPLE = AccuracyMatrix.square(
    [[0.7, 0.0, 0.0, 0.0], [0.8, 0.9, 0.0, 0.0], [0.6, 0.9, 0.9, 0.0], [0.5, 0.9, 0.9, 0.9]]
)


def test_worked_example_a_task_seen_at_7_8_6_5_tenths_has_forgotten_3():
    assert chaudhry.task_forgetting(WORKED_EXAMPLE, 4) == pytest.approx([0.3, 0, 0])
    assert chaudhry.forgetting(WORKED_EXAMPLE, 4) == pytest.approx(0.3 / 3)


def test_intransigence_is_against_the_diagonal_of_the_reference():
    table = np.tril(np.full((4, 4), 0.5), -1) + np.diag([0.9, 0.7, 0.8, 1.0])
    reference = AccuracyMatrix.square(table)
    each = [chaudhry.intransigence(WORKED_EXAMPLE, reference, k) for k in (1, 2, 3, 4)]
    assert each == pytest.approx([0.2, -0.2, -0.1, 0.1])
