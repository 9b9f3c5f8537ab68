"""What is finished of one job, as numbers: all that its tables and metrics are made of.

`result_of` turns the measurements of a job, which are confusion counts, into accuracies, PRA, F1
and costs. From these `scenarios.study.tables` writes the tables and `scenarios.study.scores` the
metrics. A job need not be finished: what is missing is left out, so that tables can be written
while a study runs. Tasks are in executed order throughout, as the metrics of the literature are
defined by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import pra
from probe.metrics.task_counts import TaskCounts
from probe.training.costs import Cost
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.heads import Head
from scenarios.study.jobs import Job
from scenarios.study.measurement import Measurement
from scenarios.study.spec import ReportSpec

Tasks = tuple[tuple[str, tuple[int, ...]], ...]
"""The name and the classes of each of the T tasks, in executed order."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the finished parts of a job of T tasks say; tasks are in executed order.

    The counts themselves are not kept: those of a large study do not fit into memory.

    - tasks: see `Tasks`; parts: the names of those that are finished;
    - features: those of the job's network by depth, the last is its output;
    - accuracy: by head of the report and by the number of tasks learned, (T,) fractions in [0, 1];
    - final: by head, the overall accuracy after all tasks;
    - pra, f1: by feature, those of its partial retrained model; at the output those of the model
      itself under its own head; f1 is (T,), and all are fractions;
    - test_sizes: the numbers of test examples, (T,), empty if that evaluation is not finished;
    - notes: by feature, what has to be known to read its PRA and F1, where there is anything;
    - costs, seconds: what each task cost and how long it took to learn, by its position in the
      executed order, from 1.
    """

    job: Job
    tasks: Tasks
    parts: frozenset[str]
    features: tuple[str, ...]
    accuracy: Mapping[Head, Mapping[int, NDArray[np.float64]]]
    final: Mapping[str, float]
    pra: Mapping[str, float]
    f1: Mapping[str, NDArray[np.float64]]
    test_sizes: tuple[int, ...]
    notes: Mapping[str, tuple[str, ...]]
    costs: Mapping[int, Cost]
    seconds: Mapping[int, float]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each task, in executed order."""
        return tuple(name for name, _ in self.tasks)

    def matrix(self, head: Head) -> AccuracyMatrix | None:
        """The job's R, (T+1, T), under a head of the report; None unless all of it is finished.

        Row t holds the accuracies after t tasks, row 0 those of the fresh network. Of an offline
        job, which has two rows, there is none if there is more than one task.
        """
        steps = self.accuracy[head]
        # T + 1 rows are needed; a matrix with rows missing would give metrics of fewer tasks.
        if len(steps) <= len(self.tasks):
            return None
        return AccuracyMatrix(np.stack(list(steps.values())))


def own_head(job: Job) -> Head:
    """Return single-head, but multi-head for a learner that must be told the task.

    It is the head under which the learner itself stands for its output among the features, and
    under which offline training is compared with it.
    """
    return "multi" if LEARNERS[job.kind].task_aware else "single"


def result_of(
    job: Job,
    tasks: Tasks,
    features: tuple[str, ...],
    parts: Mapping[str, Measurement],
    report: ReportSpec,
) -> Result:
    """Return what the finished parts of a job say.

    tasks: see `Tasks`; features: those of the job's network by depth, the last is its output;
    parts: by name, see `scenarios.study.jobs.parts_of`; report: which heads count, and what
    accuracies are the mean over. Raises InputError for counts that are of other tasks.
    """
    counts = partial(_counts, parts, tuple(own for _, own in tasks))
    # Offline has only the first and the last of these; the others are never in `parts`.
    steps = [f"step-{step}" for step in range(len(tasks) + 1)]
    after_all = {head: counts(steps[-1], head) for head in ("single", "multi", "all")}
    # A retrained model is tested on all classes at once, whatever its learner is told.
    models = {feature: counts(f"feature-{feature}", "single") for feature in features[:-1]}
    # At the output nothing is left to retrain: it is the continually trained model itself.
    models[features[-1]] = final = after_all.get(own_head(job))
    probed = {feature: model for feature, model in models.items() if model}
    spent = {step: parts[part].spent for step, part in enumerate(steps) if part in parts}
    return Result(
        job=job,
        tasks=tasks,
        parts=frozenset(parts),
        features=features,
        accuracy={
            head: {
                step: evaluated.accuracies(report.mean)
                for step, part in enumerate(steps)
                if (evaluated := counts(part, head))
            }
            for head in report.heads
        },
        # Over all test examples at once, which is not the mean over tasks if their sizes differ.
        final={head: pra(evaluated.total) for head, evaluated in after_all.items() if evaluated},
        pra={feature: pra(model.total) for feature, model in probed.items()},
        f1={feature: model.f1() for feature, model in probed.items()},
        test_sizes=tuple(final.test_sizes().tolist()) if final else (),
        notes=_notes(parts, features),
        costs={step: each.cost for step, each in spent.items() if step and each},
        seconds={step: each.seconds for step, each in spent.items() if step and each},
    )


def _notes(
    parts: Mapping[str, Measurement], features: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the notes on retrained models, by feature, of those that have any."""
    found = {feature: parts.get(f"feature-{feature}") for feature in features}
    return {feature: own.notes for feature, own in found.items() if own and own.notes}


def _counts(
    parts: Mapping[str, Measurement], classes: tuple[tuple[int, ...], ...], part: str, head: str
) -> TaskCounts | None:
    """Return what a part has counted under a head, None if it is not finished or has no such."""
    tables = parts[part].counts.get(head) if part in parts else None
    return TaskCounts(tasks=classes, tables=tables) if tables else None
