"""What partial retraining measured, as tables and as text."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from probe.metrics.counts import Counts
from probe.metrics.murata import pra, task_f1


@dataclass(frozen=True, kw_only=True)
class Retrained:
    """A feature's partial retrained model, tested.

    predicted: (N,) class numbers, in the order of the test data; notes: on this feature.
    """

    feature: str
    predicted: Tensor
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PartialRetraining:
    """What partial retraining measured: the confusion counts of each partial retrained model M_i.

    tasks: the classes of each of the T tasks, in executed order; counts: one (K, K) table per
    feature, over all test examples; notes: what else has to be known to read them, sentences.
    `print` shows it as a table.
    """

    tasks: tuple[tuple[int, ...], ...]
    counts: Mapping[str, Counts]
    notes: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The L features, in the order in which they were asked for."""
        return tuple(self.counts)

    @property
    def pra(self) -> dict[str, float]:
        """Partial Retrain Accuracy of each feature, in [0, 1]; higher is better."""
        return {feature: pra(counts) for feature, counts in self.counts.items()}

    @property
    def task_f1(self) -> NDArray[np.float64]:
        """(L, T) micro-F1 of each feature's M_i on each task, in executed order; in [0, 1]."""
        return np.array([task_f1(counts, self.tasks) for counts in self.counts.values()])

    def __str__(self) -> str:
        width = max(map(len, ("feature", *self.features)))
        tasks = "  ".join(f"task {at + 1:<2}" for at in range(len(self.tasks)))
        lines = [f"{'feature':{width}}  PRA     {tasks}".rstrip()]
        for feature, scores in zip(self.features, self.task_f1, strict=True):
            each = "  ".join(f"{score:<7.4f}" for score in scores)
            lines.append(f"{feature:{width}}  {self.pra[feature]:.4f}  {each}".rstrip())
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])
