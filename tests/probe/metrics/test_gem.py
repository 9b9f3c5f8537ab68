"""Traps of the GEM paper's metrics."""

import numpy as np
import pytest

from probe.errors import NotMeasured
from probe.metrics import gem
from probe.metrics.matrix import AccuracyMatrix

FORGETS_HALF = AccuracyMatrix([[0.1, 0.1, 0.1], [0.9, 0.3, 0.1], [0.4, 0.9, 0.3], [0.4, 0.4, 0.9]])


def test_transfers_are_divided_by_the_tasks_that_have_one_not_by_all():
    assert gem.bwt(FORGETS_HALF) == pytest.approx(-0.5)
    assert gem.fwt(FORGETS_HALF) == pytest.approx(0.2)


def test_forward_transfer_needs_the_row_before_any_training():
    with pytest.raises(NotMeasured, match=r"R\[0,2\] \(task 2 before any training\)"):
        gem.fwt(AccuracyMatrix.square(FORGETS_HALF.values[1:]))


@pytest.mark.parametrize("metric", [gem.bwt, gem.fwt])
def test_one_task_has_no_transfer(metric):
    with pytest.raises(NotMeasured, match="at least 2 tasks"):
        metric(AccuracyMatrix(np.array([[0.5], [1.0]])))
