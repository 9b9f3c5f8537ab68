"""Traps of the alphas and Omegas: the first session, the ideal, the weights of tasks."""

import numpy as np
import pytest

from probe.errors import InputError
from probe.metrics import kemker
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.task_predictions import TaskPredictions

R = AccuracyMatrix.square([[0.8, 0.1, 0.2], [0.6, 0.4, 0.1], [0.2, 0.3, 0.5]])
ONE = AccuracyMatrix.square([[0.75]])


@pytest.mark.parametrize("alpha", [kemker.alpha_base, kemker.alpha_new, kemker.alpha_all])
def test_an_alpha_exists_after_each_session_and_no_other(alpha):
    assert alpha(ONE, 1) == 0.75
    for i in (0, 4):
        with pytest.raises(InputError, match=rf"i = {i} .* tasks 1\.\.3"):
            alpha(R, i)


def test_omega_all_with_test_sizes_is_accuracy_on_the_pooled_test_data():
    rng, true = np.random.default_rng(0), np.repeat([0, 1, 2, 3], [150, 250, 30, 70])
    tasks, positions = ((0, 1), (2,), (3,)), np.repeat([0, 1, 2], [400, 30, 70])
    drawn = [rng.integers(0, 4, true.size) for _ in range(4)]
    pooled = [
        Counts.of(true, drawn[2], 4).accuracy([0, 1, 2]),
        Counts.of(true, drawn[3], 4).accuracy(),
    ]
    runs = [TaskPredictions.of(true, predicted, positions, tasks) for predicted in drawn]
    matrix = AccuracyMatrix.of_predictions(runs)
    assert kemker.omega_all(matrix, 0.9, [400, 30, 70]) == pytest.approx(np.mean(pooled) / 0.9)
