"""The result of one job: all numbers of its tables and metrics.

`result_of` turns the measurements of a job, which are confusion counts, into accuracies, PRA, F1
and costs. `probe.results.tables` makes the tables of them and `probe.results.scores` the metrics. A
job need not be finished: missing measurements are left out, so that tables can be written while a
study runs. Tasks are in executed order throughout, on which the metrics of the literature rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.analysis.statements import UNFINISHED
from probe.by_layer.heads import Head
from probe.by_layer.jobs import Job, readings_of
from probe.by_layer.measurement import Key, Measurement, Measurements
from probe.by_layer.plan import Plan
from probe.by_layer.probing import DIAGNOSTICS, REESTIMATED, Reading
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN, pra
from probe.metrics.task_counts import Mean, TaskCounts
from probe.tasks import TestExamples
from probe.training.costs import Cost
from probe.training.history import History


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of one readout downstream of a feature; fractions in [0, 1].

    depth: of the feature, from 1; pra: the accuracy on the test data of all tasks; accuracy, f1:
    each task's, (T,); predicted: the class of each test example, (N,); constant: the class
    predicted for every test example, None for several; history: of its training, None for readouts
    that are not trained by epochs; notes: sentences needed to read it; control: the accuracy on
    permuted training labels, None if it was not fitted to them.
    """

    depth: int
    pra: float
    accuracy: NDArray[np.float64]
    f1: NDArray[np.float64]
    predicted: NDArray[Any]
    constant: int | None
    history: History | None
    notes: tuple[str, ...]
    control: float | None = None

    @property
    def converged(self) -> bool:
        """Whether its training converged; True where nothing was trained."""
        # Of a readout without epochs, and of one that is slow, a note says so.
        unfinished = any("not converged" in note for note in self.notes)
        return not unfinished and (self.history is None or self.history.converged)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The scores of a job of T tasks from its finished measurements; tasks in executed order.

    It keeps only scores of the steps: the counts of a large study do not fit into memory.

    - tasks: the name and the classes of each; features: of the job's network by depth, the last is
      its output;
    - accuracy: by head of the report and by the number of tasks learned, (T,) fractions in [0, 1];
    - final: by head, the overall accuracy after all tasks;
    - output: by the number of tasks learned, the scores of the unchanged model under its main head;
    - downstream: by reading, the scores downstream of the other features, and of the output under
      the head `multi` for readouts of each task; per_task: the names of these;
    - diagnostics: by reading, numbers by name, see `probe.tables.rows.DiagnosticRow`;
    - test: the test examples, None if no measurement is finished;
    - costs, seconds: the cost and the learning time of each task, by its position in the executed
      order, from 1; stuck: the tasks whose loss never left its first value.
    """

    job: Job
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    features: tuple[str, ...]
    accuracy: Mapping[Head, Mapping[int, NDArray[np.float64]]]
    final: Mapping[str, float]
    output: Mapping[int, Scores]
    downstream: Mapping[Reading, Scores]
    per_task: frozenset[str]
    diagnostics: Mapping[Reading, Mapping[str, float]]
    test: TestExamples | None
    costs: Mapping[int, Cost]
    seconds: Mapping[int, float]
    stuck: frozenset[int]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each task, in executed order."""
        return tuple(name for name, _ in self.tasks)

    @property
    def test_sizes(self) -> tuple[int, ...]:
        """The numbers of test examples, (T,), empty if no measurement is finished."""
        if self.test is None:
            return ()
        sizes = np.bincount(self.test.tasks, minlength=len(self.tasks))
        return tuple(sizes[list(self.job.tasks)].tolist())

    @property
    def retrained(self) -> dict[str, Scores]:
        """The scores of partial retraining of each feature at the end; last the output."""
        each = {feature: self.rows(feature, RETRAIN) for feature in self.features}
        last = self.job.last
        return {name: rows[last] for name, rows in each.items() if last in rows}

    @property
    def readouts(self) -> list[str]:
        """The readouts that were measured, with their variants."""
        return list(dict.fromkeys(reading.readout for reading in self.downstream))

    def rows(self, feature: str, readout: str) -> dict[int, Scores]:
        """Return the measured rows of a feature's matrix A, by the number of tasks."""
        if feature == self.features[-1] and readout not in self.per_task:
            return dict(self.output)
        each = self.downstream.items()
        found = {
            r.tasks_seen: own for r, own in each if (r.feature, r.readout) == (feature, readout)
        }
        return dict(sorted(found.items()))

    def matrix(self, head: Head) -> AccuracyMatrix | None:
        """Return the job's R, (T+1, T), under a head; None unless it is complete.

        It is measured under heads of the report only. Row t holds the accuracies after t tasks,
        row 0 is the fresh network's. An offline job has two rows, and so no R if there is more than
        one task.
        """
        return _matrix(self.accuracy.get(head, {}), len(self.tasks))

    def layer_matrix(
        self, feature: str, readout: str, floor: Result | None = None
    ) -> AccuracyMatrix | None:
        """Return a feature's matrix A, (T+1, T), by a readout; None unless it is complete.

        floor: the job of the untrained network, for row 0; its tasks are in base order.
        """
        rows = {tasks_seen: own.accuracy for tasks_seen, own in self.rows(feature, readout).items()}
        if floor is not None and 0 not in rows:
            own = floor.rows(feature, readout).get(0)
            if own is not None:
                rows = {0: own.accuracy[list(self.job.tasks)], **rows}
        return _matrix(rows, len(self.tasks))


def _matrix(rows: Mapping[int, NDArray[np.float64]], tasks: int) -> AccuracyMatrix | None:
    """Return a matrix (T+1, T) of rows (T,), None unless all are there."""
    # A matrix with rows missing would give metrics of fewer tasks.
    if len(rows) <= tasks:
        return None
    return AccuracyMatrix(np.stack([rows[tasks_seen] for tasks_seen in range(tasks + 1)]))


_Tasks = tuple[tuple[str, tuple[int, ...]], ...]


def own_head(job: Job) -> Head:
    """Return `single`, or `multi` for a learner that must be told the task.

    It is the head of the output among the features, and of the comparison with offline training.
    """
    return "multi" if job.task_aware else "single"


def result_of(plan: Plan, job: Job, measurements: Measurements) -> Result:
    """Return a job's result from its finished measurements, see `probe.by_layer.jobs.keys_of`."""
    features, mean = plan.learners[job.learner].features, plan.report.mean
    tasks = tuple((plan.tasks[task].name, plan.tasks[task].classes) for task in job.tasks)
    downstream = dict[Reading, Scores]()
    diagnostics = dict[Reading, Mapping[str, float]]()
    for reading in readings_of(plan, job):
        measurement = measurements.get(reading.key)
        if measurement and reading.readout == DIAGNOSTICS:
            diagnostics[reading] = measurement.values
        elif measurement:
            [head] = measurement.predicted
            depth = 1 + features.index(reading.feature)
            downstream[reading] = _scores(measurement, head, job, tasks, depth, mean)
    per_task = [name for name, readout in plan.readouts.items() if readout.per_task]
    return Result(
        job=job,
        tasks=tasks,
        features=features,
        downstream=dict(_beside_linear(downstream)),
        per_task=frozenset(variant for name in per_task for variant in plan.variants(name)),
        diagnostics=diagnostics,
        test=next((measurement.test for measurement in measurements.values()), None),
        **_of_outputs(plan, job, tasks, measurements),
    )


def _of_outputs(plan: Plan, job: Job, tasks: _Tasks, measurements: Measurements) -> dict[str, Any]:
    """Return the fields of a result that the outputs of the job's networks give."""
    main, mean, depth = own_head(job), plan.report.mean, len(plan.learners[job.learner].features)
    accuracy: dict[Head, dict[int, NDArray[np.float64]]] = {head: {} for head in plan.report.heads}
    outputs = {t: measurements[Key(t)] for t in job.steps if Key(t) in measurements}
    for tasks_seen, measurement in outputs.items():
        for head in accuracy.keys() & measurement.predicted.keys():
            accuracy[head][tasks_seen] = _counts(measurement, head, job, tasks).accuracies(mean)
    costs = {t: measurement.cost for t, measurement in outputs.items() if measurement.cost}
    last = outputs.get(job.last)
    return {
        "accuracy": accuracy,
        # Over all test examples at once, not the mean over tasks if their sizes differ.
        "final": {h: pra(_counts(last, h, job, tasks).total) for h in last.predicted}
        if last
        else {},
        "output": {
            tasks_seen: _scores(measurement, main, job, tasks, depth, mean)
            for tasks_seen, measurement in outputs.items()
            if main in measurement.predicted
        },
        "costs": {tasks_seen: cost.cost for tasks_seen, cost in costs.items() if tasks_seen},
        "seconds": {tasks_seen: cost.seconds for tasks_seen, cost in costs.items() if tasks_seen},
        "stuck": frozenset(tasks_seen for tasks_seen, cost in costs.items() if cost.stuck),
    }


def _counts(measurement: Measurement, head: str, job: Job, tasks: _Tasks) -> TaskCounts:
    """Return the confusion counts of a measurement under a head, tasks in executed order."""
    classes = tuple(task_classes for _, task_classes in tasks)
    return measurement.test.counts(measurement.predicted[head], job.tasks, classes)


def _scores(
    measurement: Measurement, head: str, job: Job, tasks: _Tasks, depth: int, mean: Mean
) -> Scores:
    """Return the scores of one measurement under a head.

    depth: of the feature, from 1; mean: accuracies on tasks are means over examples or classes.
    """
    counts = _counts(measurement, head, job, tasks)
    total = counts.total
    return Scores(
        depth=depth,
        pra=pra(total),
        accuracy=counts.accuracies(mean),
        f1=counts.f1(),
        predicted=measurement.predicted[head],
        constant=_constant(total),
        history=measurement.history,
        notes=measurement.notes,
        control=measurement.values.get("control"),
    )


def _beside_linear(measured: Mapping[Reading, Scores]) -> Iterator[tuple[Reading, Scores]]:
    """Yield scores with a note on slow retrainings that the linear readout is still better than.

    By two standard errors of the difference; of the same network and feature.
    """
    tops = {(r.tasks_seen, r.feature, r.readout): own.pra for r, own in measured.items()}
    for r, own in measured.items():
        p, q = (
            own.pra,
            tops.get((r.tasks_seen, r.feature, "linear" + REESTIMATED * r.reestimated), 0.0),
        )
        least = p + 2 * math.sqrt((q * (1 - q) + p * (1 - p)) / own.predicted.size)
        if own.history and own.history.slow and own.converged and q > least:
            note = f"it is slow, and {100 * (q - p):.1f} points below the linear readout"
            own = replace(own, notes=(*own.notes, f"{UNFINISHED}: {note}"))
        yield r, own


def _constant(counts: Counts) -> int | None:
    """Return the class predicted for every example, None if there are several.

    Also None where all examples are of one class.
    """
    true, predicted = np.divmod(counts.cells, counts.classes)
    alone = len(true) > 1 and bool((predicted == predicted[0]).all())
    return int(predicted[0]) if alone else None
