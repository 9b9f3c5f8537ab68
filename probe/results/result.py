"""The result of one job: all numbers of its tables and metrics.

`result_of` turns the measurements of a job, which are confusion counts, into accuracies, PRA, F1
and costs. `probe.results.tables` makes the tables of them and `probe.results.scores` the metrics. A
job need not be finished: missing measurements are left out, so that tables can be written while a
study runs. Tasks are in executed order throughout, on which the metrics of the literature rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from probe.analysis.statements import UNFINISHED
from probe.by_layer.heads import Head
from probe.by_layer.jobs import Job, readings_of
from probe.by_layer.measurement import Measurement, Spent
from probe.by_layer.plan import Plan
from probe.by_layer.probing import DIAGNOSTICS, REESTIMATED, Reading
from probe.metrics.counts import Counts, margins
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN, pra
from probe.metrics.outcomes import Outcomes
from probe.metrics.task_counts import Mean, TaskCounts
from probe.training.costs import Cost
from probe.training.history import History


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of one readout downstream of a feature; fractions in [0, 1].

    depth: of the feature, from 1; pra: the accuracy on the test data of all tasks; accuracy, f1:
    each task's, (T,); right: the test examples that are right; constant: the class predicted for
    every test example, None for several; history: of its training, None for readouts that are not
    trained by epochs; notes: sentences needed to read it; control: the accuracy on permuted
    training labels, None if it was not fitted to them.
    """

    depth: int
    pra: float
    accuracy: NDArray[np.float64]
    f1: NDArray[np.float64]
    right: Outcomes
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
    - test_counts: the number of test examples of each class in each task, (T, K), None if no
      evaluation is finished;
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
        if self.job.last not in self.output or self.test_counts is None:
            return ()
        return tuple(self.test_counts.sum(axis=1).tolist())

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


def own_head(job: Job) -> Head:
    """Return `single`, or `multi` for a learner that must be told the task.

    It is the head of the output among the features, and of the comparison with offline training.
    """
    return "multi" if job.task_aware else "single"


_Counted = tuple[Measurement, Mapping[Head, TaskCounts]]


def result_of(plan: Plan, job: Job, read: Callable[[str], Measurement | None]) -> Result:
    """Return a job's result from its finished measurements.

    read: returns a measurement by its name, see `probe.by_layer.jobs.parts_of`, None without one.
    Each is let go before the next. Raises InputError for counts of other tasks.
    """
    features, mean = plan.learners[job.learner].features, plan.report.mean
    tasks = tuple((plan.tasks[at].name, plan.tasks[at].classes) for at in job.tasks)
    classes = tuple(own for _, own in tasks)
    downstream = dict[Reading, Scores]()
    diagnostics = dict[Reading, Mapping[str, float]]()

    def counted(part: str) -> Iterator[_Counted]:
        """Yield a measurement with its counts if it is there."""
        if measured := read(part):
            heads = cast(Mapping[Head, Sequence[Counts]], measured.counts).items()
            yield measured, {head: TaskCounts(tasks=classes, tables=own) for head, own in heads}

    for reading in readings_of(plan, job):
        for measured, counts in counted(reading.part):
            if reading.readout == DIAGNOSTICS:
                diagnostics[reading] = measured.values
            for head, own in counts.items():
                depth = 1 + features.index(reading.feature)
                downstream[reading] = _scores(measured, own, head, depth, mean)
    told = [name for name, own in plan.readouts.items() if own.per_task]
    return Result(
        job=job,
        tasks=tasks,
        features=features,
        downstream=dict(_beside_linear(downstream)),
        per_task=frozenset(variant for name in told for variant in plan.variants(name)),
        diagnostics=diagnostics,
        **_of_steps(plan, job, counted),
    )


def _of_steps(plan: Plan, job: Job, counted: Callable[[str], Iterator[_Counted]]) -> dict[str, Any]:
    """Return the fields of a result that the evaluations after so many tasks give."""
    main, mean, depth = own_head(job), plan.report.mean, len(plan.learners[job.learner].features)
    accuracy: dict[Head, dict[int, NDArray[np.float64]]] = {head: {} for head in plan.report.heads}
    output, spent = dict[int, Scores](), dict[int, Spent]()
    final: dict[Head, float] = {}
    tested = None
    for tasks_seen in job.steps:
        for measured, counts in counted(f"step-{tasks_seen}"):
            for head in accuracy.keys() & counts.keys():
                accuracy[head][tasks_seen] = counts[head].accuracies(mean)
            if main in counts:
                tested = counts[main]
                output[tasks_seen] = _scores(measured, tested, main, depth, mean)
            if measured.spent:
                spent[tasks_seen] = measured.spent
            if tasks_seen == job.last:
                # Over all test examples at once, not the mean over tasks if their sizes differ.
                final = {head: pra(each.total) for head, each in counts.items()}
    return {
        "accuracy": accuracy,
        "final": final,
        "output": output,
        "test_counts": _test_counts(tested) if tested else None,
        "costs": {tasks_seen: each.cost for tasks_seen, each in spent.items() if tasks_seen},
        "seconds": {tasks_seen: each.seconds for tasks_seen, each in spent.items() if tasks_seen},
        "stuck": frozenset(tasks_seen for tasks_seen, each in spent.items() if each.stuck),
    }


def _scores(
    measured: Measurement, evaluated: TaskCounts, head: str, depth: int, mean: Mean
) -> Scores:
    """Return the scores of one measurement.

    evaluated: its counts under the head; depth: of the feature, from 1; mean: accuracies on tasks
    are means over examples or classes.
    """
    total = evaluated.total
    return Scores(
        depth=depth,
        pra=pra(total),
        accuracy=evaluated.accuracies(mean),
        f1=evaluated.f1(),
        right=measured.right[head],
        constant=_constant(total),
        history=measured.history,
        notes=measured.notes,
        control=measured.values.get("control"),
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
        least = p + 2 * math.sqrt((q * (1 - q) + p * (1 - p)) / own.right.right.size)
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


def _test_counts(evaluated: TaskCounts) -> NDArray[np.int64]:
    """Count the test examples of each task and class, (T, K)."""
    true, *_ = margins(evaluated.tables)
    if len(true) == len(evaluated.tasks):
        return true
    # One confusion matrix for all tasks, which share no class.
    own = np.zeros((len(evaluated.tasks), true.shape[1]), dtype=np.int64)
    for task, mine in enumerate(evaluated.tasks):
        own[task, list(mine)] = true[0, list(mine)]
    return own
