"""The result of one job: all numbers of its tables and metrics.

`job_result` turns the measurements of a job, which are predictions, into accuracies,
PRA, F1 and costs. From these, `probe.results.tables` makes the tables and
`probe.results.scores` the metrics. A job need not be finished: missing measurements are
left out, so that tables can be written while a study runs. Tasks are always in executed
order, as the metrics of the literature require.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from probe.analysis.variance import Floats
from probe.by_layer.head_predictions import Head
from probe.by_layer.jobs import Job, inherited_keys, readout_keys, rewound_keys
from probe.by_layer.measurement import HALF, Key, Measurement, TrainingCost
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.immutable import immutable
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN
from probe.tasks import TestExamples
from probe.training.history import History


@immutable
class Scores:
    """The scores of one readout downstream of a feature; fractions in [0, 1].

    Attributes:
        depth: Depth of the feature, from 1.
        pra: The accuracy on the test data of all tasks.
        accuracy: The accuracy on each task, (T,).
        f1: The F1 of each task, (T,).
        right_bits: The correctness of each test example, packed by `np.packbits`, (N /
            8,).
        constant: The class predicted for every test example; None if there are several,
            or if all examples are of a single class.
        history: History of the training, None for readouts that are not trained by
            epochs.
        notes: Sentences needed to read the scores.
        control: The accuracy on permuted training labels, None if it was not measured.
        half_bits: As `right_bits` after half of the epochs, None where nothing was
            retrained.
    """

    depth: int
    pra: float
    accuracy: Floats
    f1: Floats
    right_bits: NDArray[np.uint8]
    constant: int | None
    history: History | None
    notes: tuple[str, ...]
    control: float | None = None
    half_bits: NDArray[np.uint8] | None = None

    @property
    def converged(self) -> bool:
        """Whether the training converged; True if nothing was trained."""
        # Of a readout without epochs, and of one that is slow, a note says so.
        unfinished = any("not converged" in note for note in self.notes)
        return not unfinished and (self.history is None or self.history.converged)


@immutable
class JobResult:
    """The scores of a job of T tasks from its finished measurements; tasks in executed order.

    Attributes:
        job: The job.
        tasks: The name and the classes of each task.
        features: The features of the network by depth; the last is its output.
        blocks: The blocks that are put back: the features, or the names of patterns.
        heads: The heads of the report.
        outputs: The scores of the unchanged model by head and number of tasks learned:
            under the heads of the report and the main head, and at the end under all
            heads.
        downstream: The scores downstream of the other features and, for task-aware
            readouts, of the output under the head `multi`.
        task_aware_readouts: The names of the task-aware readouts.
        with_blocks: The scores downstream of features of the last network with blocks
            of earlier ones, see `probe.by_layer.jobs.inherited_keys`.
        rewound: The rewound networks by the task position of the earlier one.
        tested: The tests of the unchanged networks by number of tasks learned.
        diagnostics: Numbers by name, as in diagnostics.csv; none for a feature that
            cannot be read, under the key of each readout of it.
        test: The test examples, None if no measurement is finished.
        costs: The cost of learning each task, by its position in the executed order,
            from 1.
    """

    job: Job
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    features: tuple[str, ...]
    blocks: tuple[str, ...]
    heads: tuple[Head, ...]
    outputs: Mapping[str, Mapping[int, Scores]]
    downstream: Mapping[Key, Scores]
    task_aware_readouts: frozenset[str]
    with_blocks: Mapping[Key, Scores]
    rewound: Mapping[int, Measurement]
    tested: Mapping[int, Measurement]
    diagnostics: Mapping[Key, Mapping[str, float]]
    test: TestExamples | None
    costs: Mapping[int, TrainingCost]

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
    def output(self) -> Mapping[int, Scores]:
        """The scores of the unchanged model under its main head, by the number of tasks."""
        return self.outputs.get(main_head(self.job), {})

    @property
    def retrained(self) -> dict[str, Scores]:
        """The scores of partial retraining of each feature after all tasks, the output last."""
        ends = {feature: self.at_end(feature, RETRAIN) for feature in self.features}
        return {feature: scores for feature, scores in ends.items() if scores}

    @property
    def readouts(self) -> list[str]:
        """The readouts that were measured, with their variants."""
        return list(dict.fromkeys(str(key.readout) for key in self.downstream))

    def rows(self, feature: str, readout: str) -> dict[int, Scores]:
        """Return the measured rows of a feature's matrix A.

        Args:
            feature: Name of the feature.
            readout: Name of the readout.

        Returns:
            The scores by number of tasks seen.
        """
        if feature == self.features[-1] and readout not in self.task_aware_readouts:
            return dict(self.output)
        return {
            key.tasks_seen: scores
            for key, scores in sorted(self.downstream.items(), key=lambda item: item[0])
            if (key.feature, str(key.readout)) == (feature, readout)
        }

    def at_end(self, feature: str, readout: str) -> Scores | None:
        """Return the last row of a feature's matrix A.

        Args:
            feature: Name of the feature.
            readout: Name of the readout.

        Returns:
            The scores, None if they are not measured.
        """
        return self.rows(feature, readout).get(self.job.last)

    def R(self, head: Head) -> AccuracyMatrix | None:  # noqa: N802, as the literature has it
        """Return R under a head of the report, (T+1, T); None unless all of it is measured.

        An offline job has only two rows, so it has no matrix if there is more than one
        task.
        """
        rows = self.outputs.get(head, {}) if head in self.heads else {}
        return self._matrix(
            {tasks_seen: scores.accuracy for tasks_seen, scores in rows.items()}
        )

    def matrix(
        self, feature: str, readout: str, floor: "JobResult | None"
    ) -> AccuracyMatrix | None:
        """Return A[l, t, j] of a feature l; None unless all of it is measured.

        Args:
            feature: The feature.
            readout: The readout downstream of it.
            floor: The job of the untrained network, for row 0; its tasks are in base
                order.

        Returns:
            The matrix, (T+1, T). Row t holds the accuracies after t tasks, row 0 the
            floor.
        """
        rows = self.rows(feature, readout)
        accuracies = {
            tasks_seen: scores.accuracy for tasks_seen, scores in rows.items()
        }
        if floor and (untrained := floor.rows(feature, readout).get(0)):
            accuracies.setdefault(0, untrained.accuracy[list(self.job.tasks)])
        return self._matrix(accuracies)

    def _matrix(self, accuracies: Mapping[int, Floats]) -> AccuracyMatrix | None:
        # A matrix with rows missing would give metrics of fewer tasks.
        if len(accuracies) <= len(self.tasks):
            return None
        rows = [accuracies[tasks_seen] for tasks_seen in range(len(self.tasks) + 1)]
        return AccuracyMatrix(np.stack(rows))


Results = Sequence[JobResult]
"""The results of the jobs of a plan, or of some of them."""


def count_trainings(results: Results) -> int:
    """Count the trainings among the results of one learner: seeds may only retrain one network."""
    weights: dict[int, list[object]] = {}
    for result in results:
        weights.setdefault(result.job.seed, []).append(
            result.job.weights or result.job.seed
        )
    return len({tuple(of_seed) for of_seed in weights.values()})


def main_head(job: Job) -> Head:
    """Return `multi` for a task-aware learner, otherwise `single`.

    This head applies to the output among the features and to the comparison with
    offline training.
    """
    return "multi" if job.task_aware else "single"


def job_result(
    plan: Plan, job: Job, measurements: Mapping[Key, Measurement]
) -> JobResult:
    """Return a job's result from its finished measurements.

    Args:
        plan: The plan of the job.
        job: A job of the plan.
        measurements: The finished measurements, see `probe.by_layer.jobs.keys_of`.

    Raises:
        InputError: The test examples have labels outside their tasks.
    """
    features = plan.learners[job.learner].features
    tasks = tuple(
        (plan.tasks[task].name, plan.tasks[task].classes) for task in job.tasks
    )
    classes = tuple(task_classes for _, task_classes in tasks)
    test = next((measurement.test for measurement in measurements.values()), None)
    if test:
        _check_labels(test, job, classes)

    def scores(measurement: Measurement, head: str, feature: str) -> Scores:
        predicted = measurement.predicted[head]
        labels = measurement.test.labels
        half = measurement.predicted.get(HALF)
        predictions = measurement.test.with_predictions(predicted, job.tasks, classes)
        is_constant = (predicted == predicted[0]).all() and (labels != labels[0]).any()
        return Scores(
            depth=1 + features.index(feature),
            pra=int(predictions.correct.sum()) / len(labels),
            accuracy=predictions.accuracies(plan.report.mean),
            f1=predictions.f1(),
            right_bits=np.packbits(predictions.correct),
            half_bits=np.packbits(half == labels) if half is not None else None,
            constant=int(predicted[0]) if is_constant else None,
            history=measurement.history,
            notes=measurement.notes,
            control=measurement.values.get("control"),
        )

    finished = {t: measurements[Key(t)] for t in job.steps if Key(t) in measurements}
    outputs: dict[str, dict[int, Scores]] = {}
    for tasks_seen, measurement in finished.items():
        for head in measurement.predicted:
            if head in (main_head(job), *plan.report.heads) or tasks_seen == job.last:
                row = scores(measurement, head, features[-1])
                outputs.setdefault(head, {})[tasks_seen] = row
    keys = [key for key in readout_keys(plan, job) if key in measurements]
    crossed = [key for key in inherited_keys(plan, job) if key in measurements]
    downstream, with_blocks = (
        {
            key: scores(measurements[key], head, key.feature)
            for key in some
            for head in measurements[key].predicted.keys() - {HALF}
        }
        for some in (keys, crossed)
    )
    task_aware = [name for name, readout in plan.readouts.items() if readout.task_aware]
    return JobResult(
        job=job,
        tasks=tasks,
        features=features,
        blocks=tuple(plan.blocks or features),
        heads=plan.report.heads,
        outputs=outputs,
        downstream=downstream,
        with_blocks=with_blocks,
        task_aware_readouts=frozenset(
            str(v) for name in task_aware for v in plan.variants(name)
        ),
        tested=finished,
        rewound={
            key.readout.since: measurements[key]
            for key in rewound_keys(plan, job)
            if key in measurements
        },
        diagnostics={
            k: measurements[k].values for k in keys if not measurements[k].predicted
        },
        test=test,
        costs={t: m.cost for t, m in finished.items() if t and m.cost},
    )


def _check_labels(
    test: TestExamples, job: Job, classes: Sequence[Sequence[int]]
) -> None:
    """Raise InputError for labels outside their tasks, as in a manipulated file."""
    known = {
        (task, y)
        for task, labels in zip(job.tasks, classes, strict=True)
        for y in labels
    }
    if not known.issuperset(
        zip(test.tasks.tolist(), test.labels.tolist(), strict=True)
    ):
        raise InputError("its test examples have labels outside their tasks")
