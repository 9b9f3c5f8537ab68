"""Average accuracy, backward and forward transfer as the GEM paper defines them.

Source: Lopez-Paz and Ranzato, Gradient Episodic Memory for Continual Learning, NeurIPS
2017, Section 2. The authors' code divides both transfers by T; the paper, and this
module, by T - 1.
"""

import numpy as np

from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric()
def acc(R: AccuracyMatrix) -> float:
    """Average accuracy after the last task: ACC = (1/T) sum_{j=1..T} R_{T,j}.

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing.

    Source: GEM paper, eq. 2.

    >>> acc(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]))
    0.625
    """
    return R.mean(R.tasks, np.arange(1, R.tasks + 1))


@metric(public="gem_bwt")
def bwt(R: AccuracyMatrix) -> float:
    """Backward transfer: BWT = (1/(T-1)) sum_{j=1..T-1} (R_{T,j} - R_{j,j}).

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [-1, 1]; higher is better, below 0 is forgetting.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: GEM paper, eq. 3.

    >>> bwt(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]))
    -0.5
    """
    # Not the last task: nothing was learned after it.
    j = np.arange(1, R.tasks)
    return R.mean(R.tasks, j) - R.mean(j, j)


@metric(public="gem_fwt")
def fwt(R: AccuracyMatrix) -> float:
    """Forward transfer: FWT = (1/(T-1)) sum_{j=2..T} (R_{j-1,j} - b_j).

    Args:
        R: Accuracy matrix, (T+1, T); b_j = R_{0,j}, the accuracy on task j before any
            training.

    Returns:
        A value in [-1, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing, including row 0, or T = 1.

    Source: GEM paper, eq. 4. The FWT of Diaz-Rodriguez 2018 is another quantity.

    >>> fwt(AccuracyMatrix([[0.25, 0.25], [0.75, 0.5], [0.25, 1.0]]))
    0.25
    """
    # Not the first task: nothing was learned before it.
    j = np.arange(2, R.tasks + 1)
    return R.mean(j - 1, j) - R.mean(0, j)
