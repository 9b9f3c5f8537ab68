"""Deep and shallow forgetting: loss of accuracy of a linear probe, and of the network's output.

A is the network's own accuracy matrix, A* that of a linear probe trained on all tasks
at one feature of the same networks. A task that the probe still classifies is forgotten
only at the output (shallow).

Source: "Heads collapse, features stay", ICLR 2026 (deep, shallow); Davari et al.,
Probing Representation Forgetting in Supervised and Unsupervised Continual Learning,
CVPR 2022 (the probe).
"""

import numpy as np
from numpy.typing import ArrayLike

from probe.arrays import Floats
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric(scorecard=False)
def task_deep_forgetting(A_star: AccuracyMatrix) -> Floats:
    """Deep forgetting of every task before the last: F*_j = A*_jj - A*_Tj.

    Args:
        A_star: Accuracy matrix of the probe, (T+1, T).

    Returns:
        Values (T-1,) in [-1, 1]; lower is better, below 0 where later tasks improved
        the feature.

    Raises:
        NotMeasured: A cell is missing.

    >>> task_deep_forgetting(AccuracyMatrix.square([[0.75, 0.0], [0.5, 1.0]])).tolist()
    [0.25]
    """
    # Not the last task: nothing was learned after it.
    j = np.arange(1, A_star.tasks)
    return A_star.measured(j, j) - A_star.measured(A_star.tasks, j)


@metric(scorecard=False)
def deep_forgetting(A_star: AccuracyMatrix) -> float:
    """Deep forgetting: the mean over j < T of F*_j = A*_jj - A*_Tj.

    Args:
        A_star: Accuracy matrix of the probe, (T+1, T).

    Returns:
        A value in [-1, 1]; lower is better.

    Raises:
        NotMeasured: A cell is missing, or T = 1.
    """
    j = np.arange(1, A_star.tasks)
    return A_star.mean(j, j) - A_star.mean(A_star.tasks, j)


@metric(scorecard=False)
def task_shallow_forgetting(A: AccuracyMatrix) -> Floats:
    """Shallow forgetting of every task before the last: F_j = A_jj - A_Tj.

    Args:
        A: Accuracy matrix of the network's own output, (T+1, T).

    Returns:
        Values (T-1,) in [-1, 1]; lower is better.

    Raises:
        NotMeasured: A cell is missing.
    """
    return task_deep_forgetting(A)  # the same difference, of the network's own output


@metric(scorecard=False)
def shallow_forgetting(A: AccuracyMatrix) -> float:
    """Shallow forgetting: the mean over j < T of F_j = A_jj - A_Tj; minus the BWT of GEM.

    Args:
        A: Accuracy matrix of the network's own output, (T+1, T).

    Returns:
        A value in [-1, 1]; lower is better.

    Raises:
        NotMeasured: A cell is missing, or T = 1.
    """
    return deep_forgetting(A)


@metric(scorecard=False)
def replay_gap(A: AccuracyMatrix, A_star: AccuracyMatrix | ArrayLike) -> float:
    """Excess of forgetting at the output over that in the feature: shallow minus deep forgetting.

    Args:
        A: Accuracy matrix of the network's own output, (T+1, T).
        A_star: Accuracy matrix of the probe on the same networks, (T+1, T).

    Returns:
        A value in [-2, 2]; lower is better, 0 where the output uses all that the
        feature holds.

    Raises:
        NotMeasured: A cell of either is missing, or T = 1.
        InputError: The matrices have different T.

    >>> A = AccuracyMatrix.square([[1.0, 0.0], [0.25, 1.0]])
    >>> replay_gap(A, AccuracyMatrix.square([[1.0, 0.5], [0.75, 1.0]]))
    0.5
    """
    probe = A.check_reference(A_star, "A_star")
    return shallow_forgetting(A) - deep_forgetting(probe)
