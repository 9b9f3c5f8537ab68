"""Transfer to tasks still to come, as in zero-shot continual learning.

Source: Zheng et al., Preventing Zero-Shot Transfer Degradation in Continual Learning of
Vision-Language Models (ZSCL), ICCV 2023, Section 4. Its Last is the ACC of the GEM
paper.
"""

import numpy as np

from probe.errors import NotMeasured
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric(public="zscl_transfer")
def transfer(R: AccuracyMatrix) -> float:
    """Transfer: (1/(T-1)) sum_{j=2..T} (1/(j-1)) sum_{i=1..j-1} R_{i,j}.

    Each task has the same weight; in the FWT of Diaz-Rodriguez 2018, each cell has.

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: ZSCL, Section 4 (without a number).

    >>> transfer([[1.0, 0.25, 0.25], [1.0, 1.0, 0.75], [1.0, 1.0, 1.0]])
    0.375
    """
    if R.tasks == 1:
        raise NotMeasured("Transfer needs T >= 2: there is no task before the first")
    i, j = np.triu_indices(R.tasks, 1)
    return float(np.average(R.measured(i + 1, j + 1), weights=1 / j))
