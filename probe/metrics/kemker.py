"""Omega_base, Omega_new and Omega_all (Kemker 2018): areas under curves over the sessions.

Source: Kemker et al., Measuring Catastrophic Forgetting in Neural Networks, AAAI 2018, Evaluation
Metrics. A session is a task; the first holds the base set. All sums start at session 2. Where the
classes are unbalanced the paper uses mean-per-class accuracy: fill R with that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError, NotMeasured
from probe.matrix import AccuracyMatrix


def omega_base(R: AccuracyMatrix, ideal: float) -> float:
    """Retention of the base set: Omega_base = (1/(T-1)) sum_{i=2..T} R_{i,1} / alpha_ideal.

    R: (T+1, T); ideal: alpha_ideal in (0, 1], accuracy of an offline model on the base set's test
    data. At least 0; higher is better; above 1 only where the model exceeds alpha_ideal. Raises
    NotMeasured for a missing cell and for T = 1. Source: Kemker 2018, eq. 2; the text's "after i
    new sessions" is read as after session i, the base set being the first.

    >>> omega_base(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]), ideal=0.5)
    0.5
    """
    _check_ideal(ideal)
    return R.mean(_later(R), 1) / ideal


def omega_new(R: AccuracyMatrix) -> float:
    """Recall of a session right after it: Omega_new = (1/(T-1)) sum_{i=2..T} R_{i,i}.

    R: (T+1, T). In [0, 1]; higher is better. Raises NotMeasured for a missing cell and for T = 1.
    Source: Kemker 2018, eq. 3.
    """
    return R.mean(_later(R), _later(R))


def omega_all(R: AccuracyMatrix, ideal: float, test_sizes: Sequence[int] | None = None) -> float:
    """Accuracy on all that was learned: Omega_all = (1/(T-1)) sum_{i=2..T} alpha_{all,i} / ideal.

    alpha_{all,i} = sum_{j<=i} n_j R_{i,j} / sum_{j<=i} n_j, the accuracy on the test data of all
    sessions so far together. R: (T+1, T); ideal: as in `omega_base`; test_sizes: n_j, (T,), numbers
    of test examples, by default all equal (with mean-per-class accuracies in R, give numbers of
    classes instead). At least 0; higher is better; may exceed 1. Raises NotMeasured for a missing
    cell and for T = 1. Source: Kemker 2018, eq. 4.

    >>> R = AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]])
    >>> omega_all(R, ideal=1.0), omega_all(R, ideal=1.0, test_sizes=[30, 10])
    (0.625, 0.4375)
    """
    _check_ideal(ideal)
    n = task_sizes(R, test_sizes)
    so_far = [np.average(R.measured(i, np.arange(1, i + 1)), weights=n[:i]) for i in _later(R)]
    return float(np.mean(so_far)) / ideal


def task_sizes(R: AccuracyMatrix, test_sizes: Sequence[int] | None) -> NDArray[np.float64]:
    """Return the weight n_j of each task, (T,); all 1 by default. Raises InputError if unfit."""
    sizes = np.ones(R.tasks) if test_sizes is None else np.array(test_sizes, dtype=np.float64)
    if sizes.shape != (R.tasks,):
        raise InputError(f"got {sizes.size} test sizes, expected one for each of {R.tasks} tasks")
    if not (np.isfinite(sizes) & (sizes > 0)).all():
        raise InputError(f"test sizes must be above 0, got {list(sizes)}")
    return sizes


def _later(R: AccuracyMatrix) -> NDArray[np.int64]:
    if R.tasks == 1:
        raise NotMeasured("Omega needs at least 2 sessions: its sum starts at the second")
    return np.arange(2, R.tasks + 1)


def _check_ideal(ideal: float) -> None:
    if not 0 < ideal <= 1:
        raise InputError(f"the ideal accuracy must lie in (0, 1], got {ideal:g}: give a fraction")
