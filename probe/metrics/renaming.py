"""The accuracy after the best renaming of the predicted classes.

A network whose outputs are permuted has an accuracy near 0 and has forgotten nothing:
labels or the order of classes were mixed up. If a renaming returns most of what was
lost, the outputs were renamed.
"""

from probe.arrays import Ints
from probe.errors import NotMeasured
from probe.metrics.counts import Counts


def renamed_accuracy(counts: Counts) -> float:
    """Return the accuracy after giving each predicted class the name that fits best.

    The renaming is one-to-one: the assignment of predicted to true classes with most
    examples.

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


def renaming_notes(predicted: Ints, labels: Ints) -> list[str]:
    """Return a note if renaming the predicted classes would undo more than half of the errors.

    With fewer than 10 test examples per class, a renaming fits what is due to chance.

    Args:
        predicted: The predicted classes, (N,).
        labels: The labels, (N,).
    """
    classes = 1 + int(max(predicted.max(), labels.max()))
    counts = Counts.of(labels, predicted, classes)
    accuracy = counts.accuracy()
    renamed = renamed_accuracy(counts)
    if len(labels) < 10 * classes or 2 * (renamed - accuracy) <= 1 - accuracy:
        return []
    return [
        f"its accuracy is {100 * accuracy:.1f} %, and {100 * renamed:.1f} % after the "
        "best one-to-one renaming of predicted classes: labels or the order of "
        "classes may be mixed up"
    ]
