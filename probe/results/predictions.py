"""The predictions of a plan's jobs: a row for each, and the accuracies that follow from them.

A job need not be finished: missing measurements are left out, so that tables can be
written while a study runs. Accuracies have the tasks in executed order, as the metrics
of the literature require.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Self

import numpy as np

from probe.arrays import Array, Bools, Floats, Ints
from probe.by_layer.jobs import Job, inherited_keys, readout_keys, rewound_keys
from probe.by_layer.measurement import (
    HALF,
    Key,
    Measurement,
    Measurements,
    TrainingCost,
)
from probe.by_layer.plan import CONTROLS, Plan
from probe.by_layer.report import Head
from probe.errors import InputError
from probe.immutable import immutable
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN
from probe.metrics.task_predictions import TaskClasses, TestExamples
from probe.readouts.linear import UNFINISHED
from probe.stored_names import PutBack
from probe.tables.schemas import Row

Rows = dict[int, int]
"""Rows of predictions, by the number of tasks learned."""


JobsOfLearner = dict[str, list[Job]]
"""Jobs by the name of their learner."""


@immutable(eq=False)
class Predictions:
    """The predictions of the finished measurements of jobs.

    Attributes:
        plan: The plan.
        jobs: The jobs, in the order of the plan.
        measurements: The finished measurements that the plan asks for, by the name of
            the job. Those of readouts have no predictions here.
        right: Whether each test example is classified correctly, by row, packed by
            `np.packbits`, (N / 8,).
        right_at_half: The same after half of a retraining's epochs, by row.
        accuracy: The accuracy on each task by row, (T,).
        pra: The accuracy on the test data of all tasks by row.
        converged: Whether the training converged by row; True if nothing was trained.
        control: The accuracy on permuted training labels, where it was measured, by
            row.
        f1: The F1 of each task, (T,), by row: of partial retraining and the output,
            after all tasks.
        outputs: The rows of the unchanged networks, by the job's name and head: the
            heads of the report and the main head, and after all tasks all heads.
        readouts: The rows of the readouts of each job with their keys: downstream of
            the other features and, of task-aware readouts, of the output.
        with_blocks: The rows of readouts of the last network with blocks of an earlier
            one, see `probe.by_layer.jobs.inherited_keys`.
    """

    plan: Plan
    jobs: list[Job] = field(default_factory=list)
    measurements: dict[str, Measurements] = field(default_factory=dict)
    right: list[Array] = field(default_factory=list)
    right_at_half: dict[int, Array] = field(default_factory=dict)
    accuracy: list[Floats] = field(default_factory=list)
    pra: list[float] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)
    control: dict[int, float] = field(default_factory=dict)
    f1: dict[int, Floats] = field(default_factory=dict)
    outputs: dict[tuple[str, str], Rows] = field(default_factory=dict)
    readouts: dict[str, dict[Key, int]] = field(default_factory=dict)
    with_blocks: dict[str, dict[Key, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, measurements: Iterable[tuple[Job, Measurements]]) -> Self:
        """Return the predictions in the measurements of jobs that the plan asks for.

        Args:
            plan: The plan.
            measurements: The finished measurements of each job.
        """
        predictions = cls(plan=plan)
        for job, finished in measurements:
            predictions._add(job, finished)
        return predictions

    def _add(self, job: Job, finished: Measurements) -> None:
        """Add the measurements of a job; of most predictions only whether they are right.

        There are four groups: the networks themselves; readouts of their layers;
        readouts of the last network with blocks put back; and tests of that network,
        whose predictions are kept for causes.
        """
        self.jobs.append(job)
        kept = self.measurements[job.name] = {}
        rows = self.readouts[job.name] = {}
        mixed = self.with_blocks[job.name] = {}
        for key in filter(finished.__contains__, map(Key, job.steps)):
            kept[key] = finished[key]
            self._add_output(job, key.tasks_seen, finished[key])
        for key in filter(finished.__contains__, readout_keys(self.plan, job)):
            kept[key] = replace(finished[key], predicted={})
            if finished[key].predicted:
                rows[key] = self._add_readout(job, key, finished[key])
        for key in filter(finished.__contains__, inherited_keys(self.plan, job)):
            if finished[key].predicted:
                mixed[key] = self._add_readout(job, key, finished[key])
        for key in filter(finished.__contains__, rewound_keys(self.plan, job)):
            kept[key] = finished[key]

    def _add_output(self, job: Job, step: int, measurement: Measurement) -> None:
        """Add the network's own predictions under each head that a table needs.

        All heads after the last task, else the learner's main head and the report's.
        """
        main = main_head(job)
        is_last = step == job.last
        for head in measurement.predicted:
            if is_last or head == main or head in self.plan.report.heads:
                row = self._add_row(
                    job, measurement, head, has_f1=is_last and head == main
                )
                self.outputs.setdefault((job.name, head), {})[step] = row

    def _add_readout(self, job: Job, key: Key, measurement: Measurement) -> int:
        """Add a readout's predictions, also halfway through a retraining; return the row."""
        (head,) = measurement.predicted.keys() - {HALF}
        has_f1 = key.tasks_seen == job.last and str(key.readout) == RETRAIN
        row = self._add_row(job, measurement, head, has_f1=has_f1)
        half = measurement.predicted.get(HALF)
        if half is not None:
            self.right_at_half[row] = np.packbits(half == measurement.test.labels)
        if "control" in measurement.values:
            self.control[row] = measurement.values["control"]
        return row

    def _add_row(
        self, job: Job, measurement: Measurement, head: str, *, has_f1: bool
    ) -> int:
        """Add a row of predictions, and return its number."""
        row = len(self.right)
        predictions = measurement.test.with_predictions(
            measurement.predicted[head], job.tasks, self.classes(job)
        )
        correct = predictions.correct
        history = measurement.history
        # A training has a history; a logistic regression, which has none, has a note.
        is_unfinished = any(note.startswith(UNFINISHED) for note in measurement.notes)
        self.right.append(np.packbits(correct))
        self.accuracy.append(predictions.accuracies(self.plan.report.mean))
        self.pra.append(int(correct.sum()) / len(correct))
        self.converged.append(
            not is_unfinished and (history is None or history.converged)
        )
        if has_f1:
            self.f1[row] = predictions.f1()
        return row

    @cached_property
    def test(self) -> TestExamples | None:
        """The N test examples, None if no measurement is finished."""
        of_jobs = (finished.values() for finished in self.measurements.values())
        finished = next((values for values in of_jobs if values), ())
        return next((measurement.test for measurement in finished), None)

    @cached_property
    def runs(self) -> list[Job]:
        """The jobs without those that leave out a task, which only controls use."""
        return [job for job in self.jobs if not job.without]

    def by_learner(self, *, controls: bool = False) -> JobsOfLearner:
        """Return the runs of each learner, in order of first appearance.

        Args:
            controls: Whether to include `untrained` and `offline`.
        """
        jobs: JobsOfLearner = {}
        for job in self.runs:
            if controls or job.kind not in CONTROLS:
                jobs.setdefault(job.learner, []).append(job)
        return jobs

    def features(self, job: Job) -> tuple[str, ...]:
        """Return the features of a job's network by depth; the last is its output."""
        return self.plan.learners[job.learner].features

    def blocks(self, job: Job) -> tuple[str, ...]:
        """Return the blocks that are put back: the features, or the names of patterns."""
        return tuple(self.plan.blocks or self.features(job))

    def names(self, job: Job) -> list[str]:
        """Return the names of the tasks in executed order."""
        return [self.plan.tasks[task].name for task in job.tasks]

    def classes(self, job: Job) -> TaskClasses:
        """Return the classes of each task in executed order."""
        return tuple(self.plan.tasks[task].classes for task in job.tasks)

    def test_sizes(self, job: Job) -> tuple[int, ...]:
        """Return the numbers of test examples, (T,), empty if no measurement is finished."""
        if self.test is None:
            return ()
        sizes = np.bincount(self.test.tasks, minlength=len(job.tasks))
        return tuple(sizes[list(job.tasks)].tolist())

    @cached_property
    def task_aware_readouts(self) -> frozenset[str]:
        """The names of the readouts that are fitted to each task separately."""
        names = [
            self.plan.variants(name)
            for name, readout in self.plan.readouts.items()
            if readout.task_aware
        ]
        return frozenset(str(name) for variants in names for name in variants)

    @cached_property
    def _downstream(self) -> dict[tuple[str, str, str], Rows]:
        """The rows of the readouts, by the job's name, feature and readout."""
        rows: defaultdict[tuple[str, str, str], Rows] = defaultdict(dict)
        for name, row_of_key in self.readouts.items():
            for key in sorted(row_of_key):
                layer = name, key.feature, str(key.readout)
                rows[layer][key.tasks_seen] = row_of_key[key]
        return rows

    def readouts_of(self, jobs: Iterable[Job]) -> list[str]:
        """Return the readouts of jobs that were measured, with their variants."""
        keys = (key for job in jobs for key in self.readouts.get(job.name, ()))
        return list(dict.fromkeys(str(key.readout) for key in keys))

    def output(self, job: Job, head: Head | None = None) -> Rows:
        """Return the rows of the unchanged networks under a head, None = the main one."""
        return self.outputs.get((job.name, head or main_head(job)), {})

    def rows(
        self, job: Job, feature: str, readout: str, head: Head | None = None
    ) -> Rows:
        """Return the rows of a feature's matrix A.

        Args:
            job: The job.
            feature: Name of the feature; every readout of the output is the network
                itself, unless it is task-aware.
            readout: Name of the readout.
            head: The head of the output, None = the main head of the job. A control is
                compared under the head of the learner.
        """
        is_output = feature == self.features(job)[-1]
        if is_output and readout not in self.task_aware_readouts:
            return self.output(job, head)
        return self._downstream.get((job.name, feature, readout), {})

    def at_end(
        self, job: Job, feature: str, readout: str, head: Head | None = None
    ) -> int | None:
        """Return the last row of a feature's matrix A, see `rows`; None if it is not measured."""
        return self.rows(job, feature, readout, head).get(job.last)

    def retrained_rows(self, job: Job) -> dict[str, int]:
        """Return the row of each feature's retraining after all tasks, the output last."""
        rows = {
            feature: self.at_end(job, feature, RETRAIN)
            for feature in self.features(job)
        }
        return {feature: row for feature, row in rows.items() if row is not None}

    def output_tests(self, job: Job) -> dict[int, Measurement]:
        """Return the tests of a run's networks as they are, by number of tasks learned."""
        measurements = self.measurements[job.name]
        keys = {step: Key(step) for step in job.steps}
        return {
            step: measurements[key] for step, key in keys.items() if key in measurements
        }

    def hybrid_tests(self, job: Job) -> dict[int, Measurement]:
        """Return the tests of hybrids by the number of tasks that the earlier network learned."""
        return {
            key.readout.since: measurement
            for key, measurement in self.measurements[job.name].items()
            if key.readout.put_back == PutBack.SETS
        }

    def diagnostics(self, job: Job) -> dict[Key, Mapping[str, float]]:
        """Return each feature's diagnostics by name; none if a readout cannot read the feature."""
        return {
            key: measurement.values
            for key, measurement in self.measurements[job.name].items()
            if key.feature and key not in self.readouts[job.name]
        }

    def costs(self, job: Job) -> Iterator[tuple[int, TrainingCost]]:
        """Yield the cost of learning each task, by its position in the executed order."""
        for tasks_seen, measurement in self.output_tests(job).items():
            if tasks_seen and measurement.cost:
                yield tasks_seen, measurement.cost

    def R(self, job: Job, head: Head) -> AccuracyMatrix | None:  # noqa: N802, as in papers
        """Return R under a head of the report, (T+1, T); None unless all of it is measured.

        An offline job has only two rows, so it has no matrix if there is more than one
        task.
        """
        if head not in self.plan.report.heads:
            return None
        return self._matrix(job, self.output(job, head))

    def A(  # noqa: N802, as in papers
        self, job: Job, feature: str, readout: str, floor: Job | None
    ) -> AccuracyMatrix | None:
        """Return A[l, t, j] of a feature l; None unless all of it is measured.

        Args:
            job: The job.
            feature: The feature.
            readout: The readout downstream of it.
            floor: The job of the untrained network, for row 0; its tasks are in base
                order.

        Returns:
            The matrix, (T+1, T). Row t holds the accuracies after t tasks, row 0 the
            floor.
        """
        untrained = self.rows(floor, feature, readout).get(0) if floor else None
        return self._matrix(job, self.rows(job, feature, readout), untrained)

    def _matrix(
        self, job: Job, rows: Rows, untrained: int | None = None
    ) -> AccuracyMatrix | None:
        """Return a job's accuracy matrix (T+1, T), None before all rows but row 0 are there.

        rows: the row of predictions by number of tasks seen; untrained: that of row 0,
        of a control with the tasks in base order.
        """
        accuracies = {step: self.accuracy[row] for step, row in rows.items()}
        if untrained is not None:
            accuracies.setdefault(0, self.accuracy[untrained][list(job.tasks)])
        # A matrix with rows missing would give metrics of fewer tasks.
        if len(accuracies) <= len(job.tasks):
            return None
        steps = range(len(job.tasks) + 1)
        return AccuracyMatrix(np.stack([accuracies[step] for step in steps]))

    @cached_property
    def _by_class(self) -> Ints:
        test = self.test_examples
        return np.lexsort((test.labels, test.tasks))

    @property
    def test_examples(self) -> TestExamples:
        """The test examples; raises InputError if no measurement is finished."""
        if self.test is None:
            raise InputError("there are no finished measurements")
        return self.test

    @property
    def example_tasks(self) -> Ints:
        """The task of each test example, (N,), by task in base order, then by class."""
        return self.test_examples.tasks[self._by_class]

    def correct(self, row: int, *, at_half: bool = False) -> Bools:
        """Return whether each test example is right, (N,), in the order of `example_tasks`.

        Args:
            row: The row.
            at_half: Whether to take the predictions after half of the epochs, if there
                are any.
        """
        bits = self.right[row]
        if at_half:
            bits = self.right_at_half.get(row, bits)
        right = np.unpackbits(bits, count=len(self._by_class)).astype(bool)
        return right[self._by_class]


def main_head(job: Job) -> Head:
    """Return `multi` for a task-aware learner, otherwise `single`.

    This head applies to the output among the features and to the comparison with
    offline training.
    """
    return "multi" if job.task_aware else "single"


def note_row(job: Job, tasks_seen: int, note: str, **columns: str) -> Row:
    """Return a row of the table `notes` on a job's network after some tasks."""
    return {**job.columns, "tasks_seen": tasks_seen, "note": note, **columns}


def count_trainings(jobs: Iterable[Job]) -> int:
    """Count the trainings among the jobs of one learner: seeds may only retrain one network."""
    weights: defaultdict[int, list[object]] = defaultdict(list)
    for job in jobs:
        weights[job.seed].append(job.weights or job.seed)
    return len({tuple(of_seed) for of_seed in weights.values()})
