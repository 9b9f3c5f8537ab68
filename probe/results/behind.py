"""One evaluation downstream of a feature, or at the output: its scores, and their basis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.by_layer.measurement import Measurement
from probe.metrics.counts import Counts
from probe.metrics.murata import pra
from probe.metrics.outcomes import Outcomes
from probe.metrics.task_counts import Mean, TaskCounts
from probe.training.history import History


@dataclass(frozen=True, kw_only=True)
class Behind:
    """The scores of one readout downstream of a feature; fractions in [0, 1].

    depth: of the feature, from 1; pra: the accuracy on the test data of all tasks; accuracy, f1:
    each task's, (T,); right: the test examples that are right; constant: the class predicted for
    every test example, None for several; history: of its training, None for what is not trained by
    epochs; notes: sentences needed to read it.
    """

    depth: int
    pra: float
    accuracy: NDArray[np.float64]
    f1: NDArray[np.float64]
    right: Outcomes
    constant: int | None
    history: History | None = None
    notes: tuple[str, ...] = ()


def behind_of(
    measured: Measurement, evaluated: TaskCounts, depth: int, head: str, mean: Mean
) -> Behind:
    """Return the scores of one measurement under a head.

    depth: of the feature, from 1; mean: accuracies on tasks are means over examples or classes.
    """
    return Behind(
        depth=depth,
        pra=pra(evaluated.total),
        accuracy=evaluated.accuracies(mean),
        f1=evaluated.f1(),
        right=measured.right[head],
        constant=_constant(evaluated.total),
        history=measured.history,
        notes=measured.notes,
    )


def _constant(counts: Counts) -> int | None:
    """Return the class predicted for every example, None if there are several.

    Also None where all examples are of one class.
    """
    predicted, true = counts.table.sum(axis=0), counts.table.sum(axis=1)
    alone = np.count_nonzero(predicted) == 1 and np.count_nonzero(true) > 1
    return int(predicted.argmax()) if alone else None


def test_counts(
    classes: tuple[tuple[int, ...], ...], evaluated: TaskCounts | None
) -> NDArray[np.int64] | None:
    """Count the test examples of each task and class, (T, K)."""
    if evaluated is None:
        return None
    true = np.array([counts.table.sum(axis=1) for counts in evaluated.tables])
    if len(true) == len(classes):
        return true
    # One confusion matrix for all tasks, which share no class.
    own = np.zeros((len(classes), true.shape[1]), dtype=np.int64)
    for task, mine in enumerate(classes):
        own[task, list(mine)] = true[0, list(mine)]
    return own
