"""Average incremental accuracy, the single number of class-incremental papers.

Source: Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR
2017, Section 4.
"""

from statistics import fmean

from probe.metrics.chaudhry import average_accuracy
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric()
def average_incremental_accuracy(R: AccuracyMatrix) -> float:
    """Average incremental accuracy: (1/T) sum_{t=1..T} (1/t) sum_{j=1..t} R_{t,j}.

    The mean of `average_accuracy` after each task, the first among them. The papers
    take the accuracy on the test examples of all classes seen so far; it is the mean
    over the tasks if each task has as many test examples.

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing.

    Source: Rebuffi 2017, Section 4 (without a number).

    >>> average_incremental_accuracy([[0.75, 0.0], [0.25, 1.0]])
    0.6875
    """
    return fmean(average_accuracy(R, k) for k in range(1, R.tasks + 1))
