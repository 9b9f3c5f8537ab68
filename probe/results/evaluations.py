"""The evaluations of networks in memory: counts, and the test examples that were right."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from probe.by_layer.jobs import Job, jobs_of, readings_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED, Plan
from probe.by_layer.probing import DIAGNOSTICS
from probe.errors import unknown
from probe.metrics.counts import Counts
from probe.metrics.outcomes import Outcomes
from probe.metrics.task_counts import TaskCounts
from probe.results.result import result_of

Step = int | Literal["offline"]
"""A network: after 0 to T tasks, 0 for the untrained one, or trained on all of them at once."""


class At(NamedTuple):
    """The key of an evaluation: the network's step, a feature and a readout downstream of it.

    seed: of the retraining.
    """

    tasks_seen: Step
    feature: str
    readout: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """One model's predictions on the test data of all tasks.

    counts: (K, K), true class x predicted class; right: whether each test example, in the order in
    which they were given, is classified right; notes: sentences needed to read them.
    """

    counts: Counts
    right: Outcomes
    notes: tuple[str, ...] = ()


def of_one_training(plan: Plan) -> bool:
    """Return whether all networks are of one training; seeds are then retrainings."""
    learners = [own for own in plan.learners.values() if own.kind not in CONTROLS]
    trained = [own.given.values() for own in plan.learners.values()]
    alike = all(own == next(iter(each)) for each in trained for own in each)
    return len(learners) == len(plan.orders) == 1 and alike


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluations:
    """All measurements of a plan whose networks are those of one training.

    labels, numbers: (N,), label and task (in base order, from 0) of the test examples in the
    caller's order; parts: the measurements of each job, by the job's name.
    """

    plan: Plan
    labels: NDArray[np.int64]
    numbers: NDArray[np.int64]
    parts: Mapping[str, Mapping[str, Measurement]]

    @property
    def tasks(self) -> tuple[tuple[int, ...], ...]:
        """The classes of each task, in executed order."""
        [order] = self.plan.orders.values()
        return tuple(self.plan.tasks[task].classes for task in order)

    @cached_property
    def own(self) -> Mapping[Step, Evaluation]:
        """The evaluation of each network, by step."""
        return {
            tasks_seen: self._evaluation(job, self.parts[job.name][f"step-{at}"])
            for job in jobs_of(self.plan)
            for at in job.steps
            if job.seed == self.plan.seeds[0] and (tasks_seen := self._step(job, at)) is not None
        }

    @cached_property
    def evaluations(self) -> Mapping[At, Evaluation]:
        """All evaluations by step, feature, readout and seed; at the output by every readout.

        Of the output it is single-head, multi-head for readouts of each task.
        """
        found: dict[At, Evaluation] = {}
        for job in jobs_of(self.plan):
            parts, output = self.parts[job.name], self.plan.learners[job.learner].features[-1]
            for at in job.steps:
                if (tasks_seen := self._step(job, at)) is not None:
                    own = self._evaluation(job, parts[f"step-{at}"])
                    for readout, planned in self.plan.readouts.items():
                        if not planned.per_task:
                            found[At(tasks_seen, output, readout, job.seed)] = own
            for each in readings_of(self.plan, job):
                tasks_seen = self._step(job, each.tasks_seen)
                if tasks_seen is not None and each.readout != DIAGNOSTICS:
                    own = self._evaluation(job, parts[each.part])
                    found[At(tasks_seen, each.feature, each.readout, job.seed)] = own
        return found

    @cached_property
    def dead_units(self) -> Mapping[tuple[Step, str], float]:
        """Shares in [0, 1] of dead units by step and feature, see `probe.analysis.units`."""
        return {
            (tasks_seen, each.feature): self.parts[job.name][each.part].values["dead"]
            for job in jobs_of(self.plan)
            for each in readings_of(self.plan, job)
            if each.readout == DIAGNOSTICS
            and (tasks_seen := self._step(job, each.tasks_seen)) is not None
        }

    def right(self, tasks_seen: Step, feature: str, readout: str) -> NDArray[np.bool_]:
        """Return whether each test example is classified correctly, (S, N).

        Raises InputError for a feature or readout that was not measured, and KeyError for such a
        step.
        """
        known = next(iter(self.plan.learners.values())).features
        readouts = dict.fromkeys(at.readout for at in self.evaluations)
        for kind, name, names in (("feature", feature, known), ("readout", readout, readouts)):
            if name not in names:
                raise unknown(f"{kind} of this analysis", name, names)
        each = (
            self.evaluations[At(tasks_seen, feature, readout, seed)] for seed in self.plan.seeds
        )
        return np.array([one.right.right for one in each])

    def to_record(self) -> dict[str, Any]:
        """Return all but labels and numbers as JSON values; `of_record` is the inverse."""
        parts = {
            job: {part: measured.to_record() for part, measured in own.items()}
            for job, own in self.parts.items()
        }
        return {"plan": self.plan.model_dump(mode="json"), "parts": parts}

    @classmethod
    def of_record(cls, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the evaluations of a record; raises KeyError, ValueError, TypeError if damaged.

        arrays: labels and numbers, by these names.
        """
        given = {n: arrays[n].astype(np.int64, casting="safe") for n in ("labels", "numbers")}
        parts = {
            job: {part: Measurement.of_record(each) for part, each in own.items()}
            for job, own in record["parts"].items()
        }
        plan = Plan.model_validate(record["plan"])
        found = cls(plan=plan, parts=parts, **given)
        for job in jobs_of(plan):
            result_of(plan, job, parts[job.name].get)
        return found

    def _step(self, job: Job, at: int) -> Step | None:
        """Return the name of a network; None for one that another job represents."""
        if job.kind == OFFLINE:
            return "offline" if at else None
        floor = UNTRAINED in self.plan.learners
        return None if at == 0 and floor and job.kind not in CONTROLS else at

    def _evaluation(self, job: Job, measured: Measurement) -> Evaluation:
        """Return a measurement with the test examples in the caller's order."""
        classes = tuple(self.plan.tasks[task].classes for task in job.tasks)
        head = "single" if "single" in measured.counts else "multi"
        total = TaskCounts(tasks=classes, tables=measured.counts[head]).total
        # Stored by task and, within a task, by class.
        stored = np.lexsort((self.labels, np.argsort(job.tasks)[self.numbers]))
        right = np.zeros(len(self.labels), dtype=bool)
        right[stored] = measured.right[head].right
        return Evaluation(counts=total, right=Outcomes.of(right), notes=measured.notes)
