"""The protocol of executors, and the simplest one: this process.

An executor takes jobs one by one from a function and yields events: a measurement is finished, a
job has ended. The choice of jobs, their order and the reaction to failures are up to
`scenarios.execution.schedule`. The other executors, `pool` and `cluster`, run jobs in other
processes and look for finished measurements in the run directory, by `Finished`: any other channel
would break with its process and lose events.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from probe.by_layer.jobs import Job
from scenarios.execution.work import Event, Part, Work, carry_out

Take = Callable[[], Job | None]
"""Function that returns the next job, or None if there is none now; there may be one later."""


class Executor(Protocol):
    """An executor of jobs, perhaps in parallel; on a CPU all executors give the same bits."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """Do the jobs that `take` returns and yield their events, until all have ended.

        Every job ends with one `Ended`, after all of its measurements; then `take` may return
        another. Closing the generator ends everything that it started. Raises NotWritten as
        `carry_out` does.
        """
        ...


class Inline:
    """Executor in this process, one job after the other: the simplest to debug."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`."""
        while job := take():
            yield from carry_out(work, job)


class Finished:
    """Measurements finished by other processes, each reported once.

    Every look lists the folders of the jobs that are followed.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._known: dict[Job, set[str]] = {}

    def follow(self, job: Job) -> None:
        """Follow a job from now on; measurements that are finished already are not reported."""
        self._known[job] = self._work.finished(job)

    def new_parts(self) -> Iterator[Part]:
        """Yield the measurements finished since the last look."""
        for job, known in self._known.items():
            new = self._work.finished(job) - known
            known |= new
            yield from (Part(job, part) for part in sorted(new))

    def last_parts(self, job: Job) -> Iterator[Part]:
        """Yield the new measurements of a job that has ended, and follow it no longer."""
        new = self._work.finished(job) - self._known.pop(job)
        yield from (Part(job, part) for part in sorted(new))
