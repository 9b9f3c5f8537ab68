"""The result of one job: all numbers of its tables and metrics.

`result_of` turns the measurements of a job, which are confusion counts, into accuracies, PRA, F1
and costs. `probe.results.tables` makes the tables of them and `probe.results.scores` the metrics. A
job need not be finished: missing measurements are left out, so that tables can be written while a
study runs. Tasks are in executed order throughout, on which the metrics of the literature rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from probe.by_layer.heads import Head
from probe.by_layer.jobs import Job, readings_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.plan import Plan
from probe.by_layer.probing import DIAGNOSTICS, Reading
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN, pra
from probe.metrics.task_counts import Mean, TaskCounts
from probe.results.behind import Behind, behind_of, test_counts
from probe.training.costs import Cost

Tasks = tuple[tuple[str, tuple[int, ...]], ...]
"""The name and the classes of each of the T tasks, in executed order."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The scores of a job of T tasks from its finished measurements; tasks in executed order.

    It keeps only scores of the steps: the counts of a large study do not fit into memory.

    - tasks: see `Tasks`; parts: the names of the finished measurements;
    - features: of the job's network by depth, the last is its output;
    - accuracy: by head of the report and by the number of tasks learned, (T,) fractions in [0, 1];
    - final: by head, the overall accuracy after all tasks;
    - output: by the number of tasks learned, the scores of the unchanged model under its main head;
    - behind: by reading, the scores downstream of the other features;
    - diagnostics: by reading, numbers by name, see `probe.tables.rows.DiagnosticRow`;
    - test_counts: the number of test examples of each class in each task, (T, K), None if no
      evaluation is finished;
    - costs, seconds: the cost and the learning time of each task, by its position in the executed
      order, from 1; stuck: the tasks whose loss never left its first value.
    """

    job: Job
    tasks: Tasks
    parts: frozenset[str]
    features: tuple[str, ...]
    accuracy: Mapping[Head, Mapping[int, NDArray[np.float64]]]
    final: Mapping[str, float]
    output: Mapping[int, Behind]
    behind: Mapping[Reading, Behind]
    diagnostics: Mapping[Reading, Mapping[str, float]]
    test_counts: NDArray[np.int64] | None
    costs: Mapping[int, Cost]
    seconds: Mapping[int, float]
    stuck: frozenset[int]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each task, in executed order."""
        return tuple(name for name, _ in self.tasks)

    @property
    def test_sizes(self) -> tuple[int, ...]:
        """The numbers of test examples, (T,), empty if the last evaluation is not finished."""
        if self.last not in self.output or self.test_counts is None:
            return ()
        return tuple(self.test_counts.sum(axis=1).tolist())

    @property
    def last(self) -> int:
        """The number of tasks learned at the job's end."""
        return self.job.last

    @property
    def retrained(self) -> dict[str, Behind]:
        """The scores of partial retraining of each feature at the end; last the output."""
        found = {
            reading.feature: behind
            for reading, behind in self.behind.items()
            if (reading.step, reading.readout) == (self.last, RETRAIN)
        }
        if self.last in self.output:
            found[self.features[-1]] = self.output[self.last]
        return {feature: found[feature] for feature in self.features if feature in found}

    @property
    def readouts(self) -> list[str]:
        """The readouts that were measured, with their variants."""
        return list(dict.fromkeys(reading.readout for reading in self.behind))

    def rows(self, feature: str, readout: str) -> dict[int, Behind]:
        """Return the measured rows of a feature's matrix A, by the number of tasks."""
        if feature == self.features[-1]:
            return dict(self.output)
        each = self.behind.items()
        found = {r.step: own for r, own in each if (r.feature, r.readout) == (feature, readout)}
        return dict(sorted(found.items()))

    def matrix(self, head: Head) -> AccuracyMatrix | None:
        """Return the job's R, (T+1, T), under a head of the report; None unless it is complete.

        Row t holds the accuracies after t tasks, row 0 is the fresh network's. An offline job has
        two rows, and so no R if there is more than one task.
        """
        return _matrix(self.accuracy[head], len(self.tasks))

    def layer_matrix(
        self, feature: str, readout: str, floor: Result | None = None
    ) -> AccuracyMatrix | None:
        """Return a feature's matrix A, (T+1, T), by a readout; None unless it is complete.

        floor: the job of the untrained network, for row 0; its tasks are in base order.
        """
        rows = {step: own.accuracy for step, own in self.rows(feature, readout).items()}
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
    return AccuracyMatrix(np.stack([rows[step] for step in range(tasks + 1)]))


def own_head(job: Job) -> Head:
    """Return single-head, but multi-head for a learner that must be told the task.

    It is the head of the output among the features, and of the comparison with offline training.
    """
    return "multi" if job.task_aware else "single"


def result_of(plan: Plan, job: Job, parts: Mapping[str, Measurement]) -> Result:
    """Return the result of the finished measurements of a job.

    parts: measurements by name, see `probe.by_layer.jobs.parts_of`. Raises InputError for counts of
    other tasks.
    """
    features, report = plan.learners[job.learner].features, plan.report
    tasks = tuple((plan.tasks[at].name, plan.tasks[at].classes) for at in job.tasks)
    classes = tuple(own for _, own in tasks)
    counts = partial(_counts, parts, classes)
    steps = {step: f"step-{step}" for step in job.steps if f"step-{step}" in parts}
    last = f"step-{job.last}"
    after_all = {head: counts(last, head) for head in ("single", "multi", "all")}
    readings = [each for each in readings_of(plan, job) if each.part in parts]
    spent = {step: parts[part].spent for step, part in steps.items()}
    own = own_head(job)
    tested = list(filter(None, (counts(part, own) for part in steps.values())))
    return Result(
        job=job,
        tasks=tasks,
        parts=frozenset(parts),
        features=features,
        accuracy={head: _accuracies(steps, head, counts, report.mean) for head in report.heads},
        # Over all test examples at once, which is not the mean over tasks if their sizes differ.
        final={head: pra(evaluated.total) for head, evaluated in after_all.items() if evaluated},
        output={
            step: behind_of(parts[part], evaluated, len(features), own, report.mean)
            for step, part in steps.items()
            if (evaluated := counts(part, own))
        },
        behind=_all_behind(readings, parts, counts, features, report.mean),
        diagnostics={
            each: parts[each.part].values for each in readings if each.readout == DIAGNOSTICS
        },
        test_counts=test_counts(classes, tested[-1] if tested else None),
        costs={step: each.cost for step, each in spent.items() if step and each},
        seconds={step: each.seconds for step, each in spent.items() if step and each},
        stuck=frozenset(step for step, each in spent.items() if each and each.stuck),
    )


_CountsOf = Callable[[str, str], TaskCounts | None]  # by part and head, see `_counts`


def _accuracies(
    steps: Mapping[int, str], head: Head, counts: _CountsOf, mean: Mean
) -> dict[int, NDArray[np.float64]]:
    """Return the rows (T,) of R under a head, by the number of tasks, as steps are."""
    found = ((step, counts(part, head)) for step, part in steps.items())
    return {step: evaluated.accuracies(mean) for step, evaluated in found if evaluated}


def _all_behind(
    readings: Sequence[Reading],
    parts: Mapping[str, Measurement],
    counts: _CountsOf,
    features: Sequence[str],
    mean: Mean,
) -> dict[Reading, Behind]:
    """Return the scores downstream of the features, by reading, where there are counts."""
    return {
        each: behind_of(
            parts[each.part], evaluated, 1 + features.index(each.feature), "single", mean
        )
        for each in readings
        if (evaluated := counts(each.part, "single"))
    }


def _counts(
    parts: Mapping[str, Measurement], classes: tuple[tuple[int, ...], ...], part: str, head: str
) -> TaskCounts | None:
    """Return the counts of a measurement under a head, None if either is missing."""
    tables = parts[part].counts.get(head) if part in parts else None
    return TaskCounts(tasks=classes, tables=tables) if tables else None
