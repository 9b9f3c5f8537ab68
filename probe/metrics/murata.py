"""Metrics of partially retrained models (Murata 2020, Section 2), functions of confusion counts.

M_i is the model whose feature F_i was kept and whose remainder was retrained on all
tasks offline.
"""

from collections.abc import Sequence

import numpy as np

from probe.arguments import checked
from probe.arrays import Floats
from probe.errors import InputError, NotMeasured
from probe.metrics.counts import Counts
from probe.metrics.registry import metric

RETRAIN = "retrain"
"""The readout whose scores are PRA by definition: it retrains everything after the feature."""


@metric(scorecard=False)
def pra(counts: Counts) -> float:
    """Partial retrain accuracy PRA(F_i): overall accuracy of M_i on the test data of all tasks.

    PRA = sum_c TP_c / N.

    Args:
        counts: Confusion counts (K, K) of N test examples.

    Returns:
        A value in [0, 1]; higher is better: the representations at F_i still serve all
        tasks.

    Raises:
        NotMeasured: N = 0.

    Source: Murata 2020, Section 2 (in words, without a number).

    >>> pra(Counts.of([0, 0, 1, 2], [0, 1, 1, 2], classes=3))
    0.75
    """
    if not counts.total:
        raise NotMeasured("PRA needs test examples, and none were counted")
    return counts.accuracy()


@metric(scorecard=False)
@checked
def forgetting_strength(offline: float, pra: float) -> float:
    """Strength of representational forgetting on F_i: offline accuracy - PRA(F_i).

    Args:
        offline: Test accuracy of the model trained once on all tasks together, the same
            for every feature.
        pra: PRA(F_i).

    Returns:
        A value in [-1, 1]; lower is better, 0 is none; below 0 where retraining beats
        offline training by chance.

    Source: Murata 2020, Section 2 (in words, without a number).
    """
    return offline - pra


@metric(scorecard=False)
@checked
def task_f1(counts: Counts, tasks: Sequence[Sequence[int]]) -> Floats:
    """Micro-F1 of every task: the direction of the bias on a feature.

    F1(T_j) = 2 P R / (P + R) = 2 sum TP_c / (2 sum TP_c + sum FN_c + sum FP_c), sums
    over the classes c in C_j, TP, FN and FP counted over the *whole* test set: a
    confusion between two classes of one task is a false negative and a false positive
    of that task.

    Args:
        counts: Confusion counts (K, K).
        tasks: The classes C_j of each task in executed order.

    Returns:
        Values (T,), each in [0, 1]; higher is better, and a large difference between
        tasks shows a bias toward the task with the higher value.

    Raises:
        NotMeasured: A task has no test examples.
        InputError: A class is outside 0..K-1.

    Source: Murata 2020, eq. 1-3. Deviation: where no prediction falls in C_j, P is 0/0
    and F1 is taken as 0, its value by the second form (and by scikit-learn's micro
    average).

    >>> task_f1(Counts.of([0, 1, 2, 3], [0, 0, 2, 3], classes=4), [[2, 3], [0, 1]])
    array([1. , 0.5])
    """
    scores = []
    table = counts.table
    for position, classes in enumerate(map(sorted, map(set, tasks)), 1):
        if any(not 0 <= label < len(table) for label in classes):
            last = len(table) - 1
            raise InputError(
                f"task {position} has classes {classes}, expected some of 0..{last}"
            )
        true = int(table[classes].sum())
        predicted = int(table[:, classes].sum())
        if not true:
            raise NotMeasured(
                f"task {position} (classes {classes}) has no test examples"
            )
        scores.append(2 * int(table[classes, classes].sum()) / (true + predicted))
    return np.array(scores)
