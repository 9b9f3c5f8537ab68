"""The protocol of executors, and the simplest one: this process.

An executor takes jobs one by one from a function and yields events: a measurement is finished, a
job has ended. The choice of jobs, their order and the reaction to failures are up to
`scenarios.execution.schedule`. The other executors, `pool` and `cluster`, start jobs in other
processes and `follow` them: finished measurements are looked for in the run directory, as any other
channel would break with its process and lose events.
"""

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Key
from scenarios.execution.work import Ended, Event, Measured, Work, carry_out

Take = Callable[[], Job | None]
"""Function that returns the next job, or None if there is none now; there may be one later."""

Started = tuple[Future[Ended], Callable[[], Ended]]
"""A job in another process: its future, and a function that returns its end once that is done."""

_POLL = 0.2  # seconds between two looks at the measurements of other processes


class Executor(Protocol):
    """An executor of jobs, perhaps in parallel; on a CPU all executors give the same bits."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """Do the jobs that `take` returns and yield their events, until all have ended.

        Every job ends with one `Ended`, after all of its measurements; then `take` may return
        another. Closing the generator ends everything that it started. Raises NotWritten as
        `carry_out` does.
        """


class Inline:
    """Executor in this process, one job after the other: the simplest to debug."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`."""
        while job := take():
            yield from carry_out(work, job)


def follow(
    work: Work, take: Take, room: Callable[[], int], start: Callable[[Job], Started]
) -> Generator[Event]:
    """Do jobs in other processes and yield their events, see `Executor.events`.

    room: returns the number of jobs that may be started at a time; start: starts one.
    """
    running: dict[Job, Started] = {}
    known: dict[Job, set[Key]] = {}
    while True:
        while len(running) < room() and (job := take()):
            known[job] = work.finished(job)
            running[job] = start(job)
        if not running:
            return
        futures = [future for future, _ in running.values()]
        done, _ = wait(futures, timeout=_POLL, return_when=FIRST_COMPLETED)
        # After that: all measurements of jobs that have ended are seen.
        for job in running:
            new = work.finished(job) - known[job]
            known[job] |= new
            yield from (Measured(job, key) for key in sorted(new))
        for job, (future, end) in list(running.items()):
            if future in done:
                del running[job]
                yield end()
