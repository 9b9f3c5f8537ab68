"""The result of one job, as numbers: all that its tables and metrics are made of.

`result_of` turns the measurements of a job, which are confusion counts, into accuracies, PRA, F1
and costs. From these `probe.results.tables` writes the tables and
`probe.results.scores` the metrics. A job need not be finished: what is missing is left
out, so that tables can be written while a study runs. Tasks are in executed order throughout, as
the metrics of the literature are defined by it.
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
    """What the finished parts of a job of T tasks say; tasks are in executed order.

    Of the counts of a step only scores are kept: those of a large study do not fit into memory.

    - tasks: see `Tasks`; parts: the names of those that are finished;
    - features: those of the job's network by depth, the last is its output;
    - accuracy: by head of the report and by the number of tasks learned, (T,) fractions in [0, 1];
    - final: by head, the overall accuracy after all tasks;
    - output: by the number of tasks learned, what stands at the output: the model as it is, under
      its own head;
    - behind: by reading, what stands behind the other features;
    - diagnostics: by reading, numbers by name, see `probe.tables.rows.DiagnosticRow`;
    - test_counts: the number of test examples of each class in each task, (T, K), None if no
      evaluation is finished;
    - costs, seconds: what each task cost and how long it took to learn, by its position in the
      executed order, from 1; stuck: which of them never left their first loss.
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
        """After how many tasks the job ends."""
        return self.job.last

    @property
    def retrained(self) -> dict[str, Behind]:
        """What stands behind each feature at the end, by partial retraining; last the output."""
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
        """The readouts that something was measured with, with their variants."""
        return list(dict.fromkeys(reading.readout for reading in self.behind))

    def rows(self, feature: str, readout: str) -> dict[int, Behind]:
        """Return the rows of a feature's matrix A that are measured, by the number of tasks."""
        if feature == self.features[-1]:
            return dict(self.output)
        each = self.behind.items()
        found = {r.step: own for r, own in each if (r.feature, r.readout) == (feature, readout)}
        return dict(sorted(found.items()))

    def matrix(self, head: Head) -> AccuracyMatrix | None:
        """The job's R, (T+1, T), under a head of the report; None unless all of it is finished.

        Row t holds the accuracies after t tasks, row 0 those of the fresh network. Of an offline
        job, which has two rows, there is none if there is more than one task.
        """
        return _matrix(self.accuracy[head], len(self.tasks))

    def layer_matrix(
        self, feature: str, readout: str, floor: Result | None = None
    ) -> AccuracyMatrix | None:
        """A feature's own matrix A, (T+1, T), behind a readout; None unless all of it is finished.

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

    It is the head under which the learner itself stands for its output among the features, and
    under which offline training is compared with it.
    """
    return "multi" if job.task_aware else "single"


def result_of(plan: Plan, job: Job, parts: Mapping[str, Measurement]) -> Result:
    """Return what the finished parts of a job say.

    parts: by name, see `probe.by_layer.jobs.parts_of`. Raises InputError for counts that are of
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
    """Return the rows (T,) of R under a head, by the number of tasks; steps: parts by the same."""
    found = ((step, counts(part, head)) for step, part in steps.items())
    return {step: evaluated.accuracies(mean) for step, evaluated in found if evaluated}


def _all_behind(
    readings: Sequence[Reading],
    parts: Mapping[str, Measurement],
    counts: _CountsOf,
    features: Sequence[str],
    mean: Mean,
) -> dict[Reading, Behind]:
    """Return what stands behind the features, by reading, where there are counts."""
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
    """Return what a part has counted under a head, None if it is not finished or has no such."""
    tables = parts[part].counts.get(head) if part in parts else None
    return TaskCounts(tasks=classes, tables=tables) if tables else None
