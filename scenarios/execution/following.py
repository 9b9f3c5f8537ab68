"""What other processes have finished of the jobs they do, seen in the run directory."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.execution.work import Part, Work
from scenarios.study.job import Job


class Following:
    """The jobs that are being done elsewhere, and their parts that are known to be finished."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._known: dict[Job, set[str]] = {}

    def add(self, job: Job) -> None:
        """Follow a job from now on; what is finished of it already is no news."""
        self._known[job] = self._work.finished(job)

    def new_parts(self) -> Iterator[Part]:
        """Yield the parts that were finished since the last look."""
        for job, known in self._known.items():
            new = self._work.finished(job) - known
            known |= new
            yield from (Part(job, part) for part in sorted(new))

    def last_parts(self, job: Job) -> Iterator[Part]:
        """Yield what is new of a job, and follow it no longer."""
        new = self._work.finished(job) - self._known.pop(job)
        yield from (Part(job, part) for part in sorted(new))
