"""Average accuracy, forgetting and intransigence after task k (Chaudhry 2018, Section 3).

Source: Chaudhry et al., Riemannian Walk for Incremental Learning, ECCV 2018. a_{k,j} =
R_{k,j} is the accuracy on task j after training through task k; whether it is
multi-head (outputs of task j only) or single-head (outputs of all classes seen so far)
is decided where R is measured.
"""

import numpy as np
from numpy.typing import ArrayLike

from probe.arrays import Floats
from probe.errors import NotMeasured
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric(after="k")
def average_accuracy(R: AccuracyMatrix, k: int | None = None) -> float:
    """Average accuracy on the tasks learned so far: A_k = (1/k) sum_{j=1..k} a_{k,j}.

    Args:
        R: Accuracy matrix, (T+1, T).
        k: Number of tasks learned, 1 to T; T by default.

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing.

    Source: Chaudhry 2018, Section 3 (without a number).

    >>> average_accuracy(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]), k=2)
    0.625
    """
    learned = R.check_task(k)
    return float(R.seen(learned).sum() / learned)


@metric(after="k")
def forgetting(R: AccuracyMatrix, k: int | None = None) -> float:
    """Average forgetting of the earlier tasks: F_k = (1/(k-1)) sum_{j=1..k-1} f_j^k.

    Args:
        R: Accuracy matrix, (T+1, T).
        k: Number of tasks learned, 2 to T; T by default.

    Returns:
        A value in [-1, 1]; lower is better, below 0 is positive backward transfer.

    Raises:
        NotMeasured: A cell is missing, or k = 1.

    Source: Chaudhry 2018, Section 3 (without a number), f_j^k of `task_forgetting`.

    >>> forgetting(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]), k=2)
    0.5
    """
    return float(task_forgetting(R, k).mean())


@metric(scorecard=False)
def task_forgetting(R: AccuracyMatrix, k: int | None = None) -> Floats:
    """Forgetting of every task j < k: f_j^k = max_{l=1..k-1} a_{l,j} - a_{k,j}.

    The best past accuracy is the maximum over all rows l from 1, including rows before
    task j was learned, but without row k: f_j^k < 0 where task k improved task j.

    Args:
        R: Accuracy matrix, (T+1, T).
        k: Number of tasks learned, 2 to T; T by default.

    Returns:
        Values (k-1,) in [-1, 1]; lower is better.

    Raises:
        NotMeasured: A cell is missing, or k = 1.

    Source: Chaudhry 2018, eq. 3 (whose worked example writes a_{j,k} transposed).
    """
    past, last = _on_earlier_tasks(R, k)
    return np.asarray(past.max(axis=0) - last)


def _on_earlier_tasks(R: AccuracyMatrix, k: int | None) -> tuple[Floats, Floats]:
    """Return the accuracies on tasks j < k in the rows before row k, and in row k."""
    k = R.check_task(k)
    if k == 1:
        raise NotMeasured("forgetting needs k >= 2: there is no task before the first")
    # Rows 1..k-1: row 0 is no knowledge that training gave.
    past = np.arange(1, k)
    return R.measured(past[:, None], past), R.measured(k, past)


@metric(after="k")
def forgetting_since_learned(R: AccuracyMatrix, k: int | None = None) -> float:
    """Average forgetting of the earlier tasks since each was learned.

    (1/(k-1)) sum_{j=1..k-1} (max_{l=j..k-1} a_{l,j} - a_{k,j}). No accuracy on a task
    that is still to come is used: this is forgetting as class-incremental toolboxes
    report it, whose logs have the tasks learned so far only. It equals `forgetting` if
    no task was better before it was learned than at any time after.

    Args:
        R: Accuracy matrix, (T+1, T).
        k: Number of tasks learned, 2 to T; T by default.

    Returns:
        A value in [-1, 1]; lower is better, below 0 is positive backward transfer.

    Raises:
        NotMeasured: A cell is missing, or k = 1.

    Source: Chaudhry 2018, eq. 3, with l from j instead of 1.

    >>> nan = float("nan")
    >>> forgetting_since_learned([[0.5, nan, nan], [0.75, 1.0, nan], [0.25, 0.75, 1.0]])
    0.375
    """
    # No accuracy is lower than 0: a cell of 0 leaves the maximum as it is.
    learned = R.values.copy()
    learned[1:][np.triu_indices(R.tasks, 1)] = 0
    return float(task_forgetting(AccuracyMatrix(learned), k).mean())


@metric(after="k")
def expected_forgetting(R: AccuracyMatrix, k: int | None = None) -> float:
    """Average forgetting against the mean past accuracy instead of the best.

    (1/(k-1)) sum_{j=1..k-1} (mean_{l=1..k-1} a_{l,j} - a_{k,j}).

    Args:
        R: Accuracy matrix, (T+1, T).
        k: Number of tasks learned, 2 to T; T by default.

    Returns:
        A value in [-1, 1]; lower is better. Rows before task j was learned lower the
        mean.

    Raises:
        NotMeasured: A cell is missing, or k = 1.

    Source: Chaudhry 2018, Section 3, the remark on eq. 3: "instead of max one could use
    expectation", over the same l.

    >>> expected_forgetting([[0.75, 0.0, 0.0], [0.25, 0.5, 0.0], [0.25, 0.25, 1.0]])
    0.125
    """
    past, last = _on_earlier_tasks(R, k)
    return float(past.mean() - last.mean())


@metric(after="k", needs=["reference"])
def intransigence(
    R: AccuracyMatrix, reference: AccuracyMatrix | ArrayLike, k: int | None = None
) -> float:
    """Inability to learn task k: I_k = a*_k - a_{k,k}.

    a*_k is the accuracy on task k of a reference trained on the data of tasks 1..k
    together.

    Args:
        R: Accuracy matrix, (T+1, T).
        reference: The cumulative learner's matrix, whose diagonal is a*.
        k: Number of tasks learned, 1 to T; T by default.

    Returns:
        A value in [-1, 1]; lower is better, below 0 is positive forward transfer.

    Raises:
        NotMeasured: A cell of either matrix is missing.
        InputError: The reference has a different number of tasks.

    Source: Chaudhry 2018, eq. 4.

    >>> R, best = (AccuracyMatrix.square([[0.75, 0.0], [0.25, x]]) for x in (0.5, 1.0))
    >>> intransigence(R, reference=best, k=2)
    0.5
    """
    k = R.check_task(k)
    best = float(R.check_reference(reference).values[k, k - 1])
    if np.isnan(best):
        raise NotMeasured(
            f"the reference's accuracy on task {k} after task {k} was not measured"
        )
    return best - R.cell(k, k)
