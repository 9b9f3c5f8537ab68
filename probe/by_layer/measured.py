"""What an analysis measured of networks in memory: counts, and which examples were right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probe.analysis.layers import LayerOutcomes, TestLayout
from probe.by_layer.asked import OFFLINE, Step
from probe.errors import unknown
from probe.metrics.counts import Counts
from probe.metrics.outcomes import Outcomes
from probe.tables.layers import Layer, start_row
from probe.tables.matrices import UNTRAINED
from probe.tables.rows import LayerRow, NoteRow, Row, StartRow
from probe.tables.run_rows import LEARNER, NETWORK, ORDER, SCENARIO, RunRows

DEAD = "all of its units are dead: each has the same value for every test example"


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


class _Run(NamedTuple):
    """One line of networks as a study names it, with the steps of its R and those behind it."""

    learner: str
    order: str
    steps: Mapping[int, Step]
    behind: Mapping[int, Step]


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """All evaluations of one training's networks.

    - tasks: the classes of each of T tasks, in executed order; labels: (N,), of the test examples;
    - features: L, by depth; outputs: those of them that are the networks' own output; readouts: by
      name; seeds: S, of retraining;
    - own: each network's own evaluation, by step;
    - evaluations: by step, feature, readout and seed, see `At`; what no seed changes, such as the
      output's, is there for every seed;
    - dead_units: shares in [0, 1] by step and feature, measured where a readout other than
      `retrain` reads the feature, see `probe.analysis.units.dead_units`;
    - notes: what else has to be known to read it, sentences; of_data: those of them that are on the
      data alone; scenario, network: their names in tables.
    """

    tasks: tuple[tuple[int, ...], ...]
    labels: NDArray[np.int64]
    features: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    readouts: tuple[str, ...]
    seeds: int
    own: Mapping[Step, Evaluation]
    evaluations: Mapping[At, Evaluation]
    dead_units: Mapping[tuple[Step, str], float]
    notes: tuple[str, ...] = ()
    of_data: tuple[str, ...] = ()
    scenario: str = SCENARIO
    network: str = NETWORK

    def right(self, step: Step, feature: str, readout: str) -> NDArray[np.bool_]:
        """Return whether each test example is classified right, (S, N).

        Raises InputError for a feature or readout that was not asked for, and KeyError for a step
        that was not measured.
        """
        asked = (("feature", feature, self.features), ("readout", readout, self.readouts))
        for kind, name, known in asked:
            if name not in known:
                raise unknown(f"{kind} of this analysis", name, known)
        each = (self.evaluations[At(step, feature, readout, seed)] for seed in range(self.seeds))
        return np.array([one.right.right for one in each])

    def rows(self) -> Iterator[Row]:
        """Yield all measurements as a study has them, see `probe.by_layer.result.Analysis`."""
        for run in self._runs():
            for seed in range(self.seeds):
                yield from self._rows(run, seed)

    def layers(self) -> Iterator[LayerRow]:
        """Yield what each layer retained, forgot and never learned, by readout and feature."""
        for layer in self._layers:
            yield from layer.rows()

    def starts(self) -> Iterator[StartRow]:
        """Yield for each readout where in depth forgetting starts; nothing without a ceiling."""
        for name in self.readouts if OFFLINE in self.own else ():
            yield start_row([one for one in self._layers if one.readout == name])

    def noted(self) -> Iterator[NoteRow]:
        """Yield each note where it belongs; those on the data belong to the first seed."""
        for note in self.of_data:
            yield NoteRow(learner=LEARNER, order=ORDER, seed=0, feature="", note=note)
        for run in self._runs():
            for seed in range(self.seeds):
                row = partial(NoteRow, learner=run.learner, order=run.order, seed=seed)
                # Before any training a network says nothing, and nothing is to be said of it.
                trained = {step: key for step, key in run.steps.items() if step}
                for step, key in trained.items():
                    yield from (row(feature="", step=step, note=n) for n in self.own[key].notes)
                for step, key in run.behind.items():
                    for feature, readout, note in self._notes_behind(key, seed):
                        yield row(feature=feature, step=step, readout=readout, note=note)

    def _runs(self) -> Iterator[_Run]:
        rows = {step: step for step in self.own if isinstance(step, int)}
        yield _Run(LEARNER, ORDER, rows, {k: k for k in rows if k})
        if 0 in self.own:
            yield _Run(UNTRAINED, "", {0: 0}, {0: 0})
        if OFFLINE in self.own:
            last: dict[int, Step] = {len(self.tasks): OFFLINE}
            yield _Run(OFFLINE, "", last, last)

    def _rows(self, run: _Run, seed: int) -> Iterator[Row]:
        row = RunRows(
            tasks=self.tasks,
            learner=run.learner,
            order=run.order,
            seed=seed,
            scenario=self.scenario,
            network=self.network,
        )
        for step, key in run.steps.items():
            yield from row.of_itself(step, self.own[key].counts)
        ends = []
        for depth, feature in enumerate(self.features, 1):
            at_output = feature in self.outputs
            for readout in self.readouts[:1] if at_output else self.readouts:
                for step, key in (run.steps if at_output else run.behind).items():
                    one = self.evaluations[At(key, feature, readout, seed)]
                    at = (feature, depth, "" if at_output else readout, step, one.counts)
                    yield from row.behind(*at)
                    if step == max(run.steps):
                        ends.append(at)
        for at in ends:
            yield from row.f1(*at)

    def _notes_behind(self, key: Step, seed: int) -> Iterator[tuple[str, str, str]]:
        """Yield feature, readout and note; what is said of an output is said of the network."""
        for feature in (name for name in self.features if name not in self.outputs):
            if self.dead_units.get((key, feature)) == 1:
                yield feature, "", DEAD
            for readout in self.readouts:
                for note in self.evaluations[At(key, feature, readout, seed)].notes:
                    yield feature, readout, note

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
