"""What an analysis measured, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probe.analysis.layers import LayerOutcomes, TestLayout
from probe.by_layer.asked import OFFLINE, Step
from probe.by_layer.text import shown
from probe.errors import unknown
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.outcomes import Outcomes
from probe.metrics.task_counts import TaskCounts
from probe.tables.layers import Layer, start_row
from probe.tables.rows import LayerRow, StartRow

LEARNER = "model"
"""What the rows of an analysis have for a learner: whose networks these are is the caller's."""


class At(NamedTuple):
    """Where an evaluation belongs: behind a feature of the network of a step, by a readout.

    step: tasks learned, or "offline"; seed: of the retraining, from 0.
    """

    step: Step
    feature: str
    readout: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """One model's predictions on the test data of all tasks.

    counts: (K, K), true class x predicted class; right: whether each test example, in their order,
    is classified right; notes: what has to be known to read them, sentences.
    """

    counts: Counts
    right: Outcomes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """What was measured behind the features of networks; `print` shows it as tables.

    - tasks: the classes of each of T tasks, in executed order; labels: (N,), of the test examples;
    - features: L, by depth; readouts: by name; seeds: S, of retraining;
    - own: each network's own evaluation, by step;
    - evaluations: by step, feature, readout and seed, see `At`; what no seed changes, such as the
      output's, is there for every seed;
    - dead_units: shares in [0, 1] by step and feature, measured where a readout other than
      `retrain` reads the feature, see `probe.analysis.units.dead_units`;
    - notes: what else has to be known to read it, sentences.

    Intervals are NaN for one seed. For several they tell of retrainings and of the finite test
    set: of one network, not of what another training of it would give.
    """

    tasks: tuple[tuple[int, ...], ...]
    labels: NDArray[np.int64]
    features: tuple[str, ...]
    readouts: tuple[str, ...]
    seeds: int
    own: Mapping[Step, Evaluation]
    evaluations: Mapping[At, Evaluation]
    dead_units: Mapping[tuple[Step, str], float]
    notes: tuple[str, ...] = ()

    @property
    def R(self) -> AccuracyMatrix:  # noqa: N802, as the literature has it
        """The accuracy matrix of the networks themselves, (T+1, T)."""
        rows = {step: [own.counts] for step, own in self.own.items()}
        return self._matrix(rows)

    def matrix(self, feature: str, readout: str) -> AccuracyMatrix:
        """Return A[l, t, j] of a feature l, (T+1, T), as a mean over seeds; NaN = not measured.

        At the output it is R. Raises InputError for a feature or readout that was not asked for.
        """
        rows = {step: self._counts(step, feature, readout) for step in self.own}
        return self._matrix(rows)

    def ceiling(self, feature: str, readout: str) -> NDArray[np.float64]:
        """Return C[l, j] of a feature l, (T,), as a mean over seeds; NaN without an offline model.

        Raises InputError as `matrix` does.
        """
        if OFFLINE not in self.own:
            return np.full(len(self.tasks), np.nan)
        return self._accuracies(self._counts(OFFLINE, feature, readout))

    def right(self, step: Step, feature: str, readout: str) -> NDArray[np.bool_]:
        """Return whether each test example is classified right, (S, N).

        Raises InputError as `matrix` does, and KeyError for a step that was not measured.
        """
        return np.array([each.right.right for each in self._each(step, feature, readout)])

    def layers(self) -> list[LayerRow]:
        """Return what each layer retained, forgot and never learned, by readout and feature.

        For all tasks and for each place, see `probe.analysis.layers.quantities`.
        """
        return [row for layer in self._layers for row in layer.rows()]

    def starts(self) -> list[StartRow]:
        """Return for each readout where in depth forgetting starts; nothing without a ceiling."""
        if OFFLINE not in self.own:
            return []
        each = ([one for one in self._layers if one.readout == name] for name in self.readouts)
        return [start_row(layers) for layers in each]

    def __str__(self) -> str:
        return shown(self.layers(), self.starts(), self.notes)

    @cached_property
    def _layers(self) -> list[Layer]:
        names = [(readout, feature) for readout in self.readouts for feature in self.features]
        return [
            Layer(
                learner=LEARNER,
                readout=readout,
                feature=feature,
                depth=1 + self.features.index(feature),
                outcomes=self._outcomes(feature, readout),
                layout=self._layout,
            )
            for readout, feature in names
        ]

    def _outcomes(self, feature: str, readout: str) -> LayerOutcomes:
        right = {step: self.right(step, feature, readout) for step in self.own}
        return LayerOutcomes(
            # Of a single order.
            rows={step: each[:, None] for step, each in right.items() if isinstance(step, int)},
            floor=right.get(0),
            ceiling=right.get(OFFLINE),
        )

    @cached_property
    def _layout(self) -> TestLayout:
        task = {c: at for at, classes in enumerate(self.tasks) for c in classes}
        return TestLayout(
            tasks=np.array([task[int(label)] for label in self.labels]),
            strata=self.labels,
            orders=np.arange(len(self.tasks))[None],
        )

    def _each(self, step: Step, feature: str, readout: str) -> Iterator[Evaluation]:
        """Yield the evaluations of all seeds."""
        for kind, name, known in (
            ("feature", feature, self.features),
            ("readout", readout, self.readouts),
        ):
            if name not in known:
                raise unknown(f"{kind} of this analysis", name, known)
        for seed in range(self.seeds):
            yield self.evaluations[At(step, feature, readout, seed)]

    def _counts(self, step: Step, feature: str, readout: str) -> list[Counts]:
        return [each.counts for each in self._each(step, feature, readout)]

    def _matrix(self, rows: Mapping[Step, list[Counts]]) -> AccuracyMatrix:
        values = np.full((len(self.tasks) + 1, len(self.tasks)), np.nan)
        for step, counts in rows.items():
            if isinstance(step, int):
                values[step] = self._accuracies(counts)
        return AccuracyMatrix(values)

    def _accuracies(self, counts: list[Counts]) -> NDArray[np.float64]:
        """Return each task's accuracy, (T,), the mean over seeds."""
        # Of summed counts: equal ones have their own accuracy for a mean, to the last bit.
        total = Counts(np.sum([each.table for each in counts], axis=0))
        return TaskCounts(tasks=self.tasks, tables=(total,)).accuracies()
