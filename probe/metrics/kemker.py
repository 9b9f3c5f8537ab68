"""Accuracies alpha over the sessions and the areas Omega under their curves (Kemker 2018).

Source: Kemker et al., Measuring Catastrophic Forgetting in Neural Networks, AAAI 2018,
Evaluation Metrics. A session is a task; the first holds the base set. All sums start at
session 2. If the classes are unbalanced the paper uses mean-per-class accuracy: fill R
with that. The text's "after i new sessions" is read as after session i, the base set
being the first.
"""

from collections.abc import Sequence
from numbers import Real
from statistics import fmean

import numpy as np

from probe.arrays import Floats
from probe.errors import InputError, NotMeasured
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric(after="i")
def alpha_base(R: AccuracyMatrix, i: int) -> float:
    """Accuracy on the base set after session i: alpha_{base,i} = R_{i,1}.

    Args:
        R: Accuracy matrix, (T+1, T).
        i: Number of sessions so far, 1 to T.

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: The cell is missing.

    Source: Kemker 2018, eq. 2.
    """
    return R.cell(R.check_task(i, "i"), 1)


@metric(after="i")
def alpha_new(R: AccuracyMatrix, i: int) -> float:
    """Accuracy on session i right after it is learned: alpha_{new,i} = R_{i,i}.

    Args:
        R: Accuracy matrix, (T+1, T).
        i: Number of sessions so far, 1 to T.

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: The cell is missing.

    Source: Kemker 2018, eq. 3.
    """
    return R.cell(R.check_task(i, "i"), i)


@metric(after="i", needs=["test_sizes"])
def alpha_all(
    R: AccuracyMatrix, i: int, test_sizes: Sequence[int] | None = None
) -> float:
    """Accuracy on the test data of all sessions so far together, after session i.

    alpha_{all,i} = sum_{j<=i} n_j R_{i,j} / sum_{j<=i} n_j.

    Args:
        R: Accuracy matrix, (T+1, T).
        i: Number of sessions so far, 1 to T.
        test_sizes: Numbers n_j of test examples (T,), by default all equal. If R has
            mean-per-class accuracies, give numbers of classes instead.

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing.

    Source: Kemker 2018, eq. 4.

    >>> R = AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]])
    >>> alpha_all(R, i=2), alpha_all(R, i=2, test_sizes=[30, 10])
    (0.625, 0.4375)
    """
    R.check_task(i, "i")
    n = task_sizes(R, test_sizes)[:i]
    return float((n * R.seen(i)).sum() / n.sum())


@metric(needs=["ideal"])
def omega_base(R: AccuracyMatrix, ideal: float) -> float:
    """Retention of the base set: (1/(T-1)) sum_{i=2..T} alpha_{base,i} / alpha_ideal.

    Args:
        R: Accuracy matrix, (T+1, T).
        ideal: alpha_ideal in (0, 1], accuracy of an offline model on the base set's
            test data.

    Returns:
        At least 0; higher is better; above 1 only where the model exceeds alpha_ideal.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Kemker 2018, eq. 2.

    >>> omega_base(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]), ideal=0.5)
    0.5
    """
    _check_ideal(ideal)
    return fmean(R.measured(_later(R), 1)) / ideal


@metric()
def omega_new(R: AccuracyMatrix) -> float:
    """Recall of a session right after it: Omega_new = (1/(T-1)) sum_{i=2..T} alpha_{new,i}.

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Kemker 2018, eq. 3.
    """
    i = _later(R)
    return fmean(R.measured(i, i))


@metric(needs=["ideal", "test_sizes"])
def omega_all(
    R: AccuracyMatrix, ideal: float, test_sizes: Sequence[int] | None = None
) -> float:
    """Accuracy on all that was learned: Omega_all = (1/(T-1)) sum_{i=2..T} alpha_{all,i} / ideal.

    Args:
        R: Accuracy matrix, (T+1, T).
        ideal: alpha_ideal in (0, 1], see `omega_base`.
        test_sizes: Numbers n_j of test examples (T,), see `alpha_all`.

    Returns:
        At least 0; higher is better; may exceed 1.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Kemker 2018, eq. 4.

    >>> R = AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]])
    >>> omega_all(R, ideal=1.0), omega_all(R, ideal=1.0, test_sizes=[30, 10])
    (0.625, 0.4375)
    """
    _check_ideal(ideal)
    return fmean(alpha_all(R, i, test_sizes) for i in _later(R)) / ideal


def task_sizes(R: AccuracyMatrix, test_sizes: Sequence[int] | None) -> Floats:
    """Return the weight n_j of each task.

    Args:
        R: Accuracy matrix, (T+1, T).
        test_sizes: Numbers of test examples (T,); None = all 1.

    Returns:
        The weights (T,).

    Raises:
        InputError: The number of sizes is not T, or one is not above 0.
    """
    try:
        sizes = np.array(
            (1,) * R.tasks if test_sizes is None else test_sizes, dtype=np.float64
        )
    except (TypeError, ValueError):
        raise InputError(
            f"test sizes must be numbers, got {test_sizes!r:.60}"
        ) from None
    if sizes.ndim != 1 or len(sizes) != R.tasks:
        raise InputError(
            f"got {sizes.size} test sizes, expected one for each of {R.tasks} tasks"
        )
    if not (sizes > 0).all():
        raise InputError(f"test sizes must be above 0, got {test_sizes}")
    return sizes


def _later(R: AccuracyMatrix) -> range:
    """Return the sessions 2..T, over which every Omega is a mean."""
    if R.tasks == 1:
        raise NotMeasured(
            "Omega needs at least 2 sessions: its sum starts at the second"
        )
    return range(2, R.tasks + 1)


def _check_ideal(ideal: float) -> None:
    if not isinstance(ideal, Real) or not 0 < ideal <= 1:
        raise InputError(
            f"the ideal accuracy must lie in (0, 1], got {ideal!r:.60}: give a fraction"
        )
