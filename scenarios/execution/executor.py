"""What an executor is: where jobs are done; and the simplest one, this process.

An executor takes jobs one by one from a function and yields events: a part is finished, a job has
ended. It decides nothing: which jobs, in which order and what to do after a failure is the business
of `scenarios.execution.schedule`. The others are in `pool` and `cluster`. As their jobs run in
other processes, both look into the run directory for what is finished, with `Finished`: no other
channel is needed, and one that breaks with its process would lose news.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from scenarios.execution.work import Event, Part, Work, carry_out
from probe.by_layer.jobs import Job

Take = Callable[[], Job | None]
"""Gives the next job to be done, None if there is none now; there may be one later."""


class Executor(Protocol):
    """A way to do jobs, some of them side by side.

    Whatever it is, the results are the same bit for bit on a CPU.
    """

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """Do the jobs that `take` gives and yield what happens to them, until all have ended.

        Every job ends with one `Ended`, after all of its parts; after it `take` may give again.
        When it is closed, nothing it has started goes on. Raises NotWritten as `carry_out` does.
        """
        ...


class Inline:
    """This process, one job after the other: the simplest to debug."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`."""
        while job := take():
            yield from carry_out(work, job)


class Finished:
    """Which parts of jobs other processes have finished, as seen in the run directory.

    Each part is told once. To look costs a listing of the job's folder.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._known: dict[Job, set[str]] = {}

    def follow(self, job: Job) -> None:
        """Follow a job from now on; what is finished of it already is no news."""
        self._known[job] = self._work.finished(job)

    def new_parts(self) -> Iterator[Part]:
        """Yield the parts that were finished since the last look."""
        for job, known in self._known.items():
            new = self._work.finished(job) - known
            known |= new
            yield from (Part(job, part) for part in sorted(new))

    def last_parts(self, job: Job) -> Iterator[Part]:
        """Yield what is new of a job, and follow it no longer.

        Asked when the job has ended: its last parts may have been finished since `new_parts`.
        """
        new = self._work.finished(job) - self._known.pop(job)
        yield from (Part(job, part) for part in sorted(new))
