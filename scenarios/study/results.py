"""What is finished of one job: its measurements, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probe.counts import Counts
from probe.matrix import AccuracyMatrix
from probe.resources import Cost
from scenarios.heads import Head
from scenarios.study.job import Job
from scenarios.study.store import Measurement


@dataclass(frozen=True, kw_only=True)
class Result:
    """The finished parts of a job.

    tasks: name and classes of each task, in executed order; parts: the measurements by part.
    """

    job: Job
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    parts: Mapping[str, Measurement]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each task, in executed order."""
        return tuple(name for name, _ in self.tasks)

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The classes of each task, in executed order."""
        return tuple(classes for _, classes in self.tasks)

    @property
    def final(self) -> Counts | None:
        """The single-head evaluation after all tasks, None if it is not finished."""
        return self.steps("single").get(len(self.tasks))

    def steps(self, head: Head) -> dict[int, Counts]:
        """The evaluations under a head by the number of tasks learned, those that are finished."""
        named = {step: self.parts.get(f"step-{step}") for step in range(len(self.tasks) + 1)}
        return {step: done.counts[head] for step, done in named.items() if done is not None}

    def matrix(self, head: Head) -> AccuracyMatrix | None:
        """The job's R under a head, None unless every row of it is finished."""
        steps = self.steps(head)
        if len(steps) <= len(self.tasks):
            return None
        return AccuracyMatrix.of_counts(list(steps.values()), self.classes)

    def costs(self) -> dict[int, Cost]:
        """What each task cost, by its place in the executed order, those that are finished."""
        named = {step: self.parts.get(f"step-{step}") for step in range(1, len(self.tasks) + 1)}
        return {step: done.cost for step, done in named.items() if done and done.cost}

    def at_feature(self, feature: str, output: str) -> Counts | None:
        """The counts of the partial retrained model of a feature; at the output, of the model."""
        if feature == output:
            return self.final
        done = self.parts.get(f"feature-{feature}")
        return done.counts["single"] if done else None
