"""Chaudhry's worked example, and the traps of forgetting and intransigence."""

import numpy as np
import pytest

from probe.errors import InputError, NotMeasured
from probe.metrics import chaudhry
from probe.metrics.matrix import AccuracyMatrix

WORKED_EXAMPLE = AccuracyMatrix.square(
    [[0.7, 0.0, 0.0, 0.0], [0.8, 0.9, 0.0, 0.0], [0.6, 0.9, 0.9, 0.0], [0.5, 0.9, 0.9, 0.9]]
)


def test_worked_example_a_task_seen_at_7_8_6_5_tenths_has_forgotten_3():
    assert chaudhry.task_forgetting(WORKED_EXAMPLE, 4) == pytest.approx([0.3, 0, 0])
    assert chaudhry.forgetting(WORKED_EXAMPLE, 4) == pytest.approx(0.3 / 3)


def test_intransigence_takes_the_reference_as_a_matrix_or_as_its_diagonal():
    diagonal = [0.9, 0.7, 0.8, 1.0]
    table = np.tril(np.full((4, 4), 0.5), -1) + np.diag(diagonal)
    by_matrix, by_diagonal = (
        [chaudhry.intransigence(WORKED_EXAMPLE, reference, k) for k in (1, 2, 3, 4)]
        for reference in (AccuracyMatrix.square(table), diagonal)
    )
    assert by_matrix == by_diagonal == pytest.approx([0.2, -0.2, -0.1, 0.1])


@pytest.mark.parametrize(
    ("reference", "error", "reason"),
    [
        (AccuracyMatrix.square(np.eye(3)), InputError, "expected 4 tasks"),
        ([90, 80, 70, 60], InputError, "fractions"),
        ([0.9, np.nan, 0.9, 0.9], NotMeasured, "reference's accuracy on task 2"),
    ],
)
def test_a_reference_that_does_not_fit_or_lacks_the_cell_is_refused(reference, error, reason):
    with pytest.raises(error, match=reason):
        chaudhry.intransigence(WORKED_EXAMPLE, reference, 2)
