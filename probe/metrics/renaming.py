"""The accuracy after the best renaming of the predicted classes.

A network whose outputs are permuted has an accuracy near 0 and has forgotten nothing: labels or the
order of classes were mixed up. A renaming that returns most of what was lost tells so.
"""

from __future__ import annotations

from probe.errors import NotMeasured
from probe.metrics.counts import Counts


def renamed_accuracy(counts: Counts) -> float:
    """Return the accuracy after giving each predicted class the name that fits best.

    The renaming is one-to-one: the assignment of predicted to true classes with most examples.

    Args:
        counts: (K, K), of N test examples.

    Returns:
        In [0, 1], at least the accuracy itself; 1 if all errors are a renaming.

    Raises:
        NotMeasured: N = 0.

    >>> renamed_accuracy(Counts.of([0, 0, 1, 2], [1, 1, 2, 0], classes=3))
    1.0
    """
    if not counts.total:
        raise NotMeasured("a renaming needs test examples, and none were counted")
    from scipy.optimize import linear_sum_assignment

    true, predicted = linear_sum_assignment(counts.table, maximize=True)
    return float(counts.table[true, predicted].sum() / counts.total)
