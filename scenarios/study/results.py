"""What is finished of one job, as counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probe.counts import Counts
from probe.matrix import AccuracyMatrix
from scenarios.study.job import Job


@dataclass(frozen=True, kw_only=True)
class Result:
    """The finished parts of a job.

    tasks: name and classes of each task, in executed order; counts: part -> confusion counts.
    """

    job: Job
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    counts: Mapping[str, Counts]

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
        """The evaluation after all tasks, None if it is not finished."""
        return self.counts.get(f"step-{len(self.tasks)}")

    def steps(self) -> dict[int, Counts]:
        """The evaluations by the number of tasks learned, those that are finished."""
        named = {step: self.counts.get(f"step-{step}") for step in range(len(self.tasks) + 1)}
        return {step: counts for step, counts in named.items() if counts is not None}

    def matrix(self) -> AccuracyMatrix | None:
        """The job's R, None unless every row of it is finished."""
        steps = self.steps()
        if len(steps) <= len(self.tasks):
            return None
        return AccuracyMatrix.of_counts(list(steps.values()), self.classes)

    def at_feature(self, feature: str, output: str) -> Counts | None:
        """The counts of the partial retrained model of a feature; at the output, of the model."""
        return self.final if feature == output else self.counts.get(f"feature-{feature}")
