"""The schedule of a study's jobs, and the protocol of their executors.

An executor takes jobs one by one from a function and yields events: a measurement is
finished, a job has ended. `inline`, the simplest, is this process; `pool` and `cluster`
start jobs in other processes and `follow` them: finished measurements are looked for in
the run directory, as any other channel would break with its process and lose events.

The schedule chooses the jobs and their order: killed jobs are retried, and locked ones
are left to other processes.

Several processes may run a study in the same directory, and any of them may die. Each
repeats two steps: it does every job that no other process has locked; then it looks at
those that were locked, and does the ones that were released unfinished.

The last process must write all tables. A process that does not wait first releases all
of its locks and then looks: if two end at the same time, at least the later one finds
no lock held and everything finished.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import replace

from probe.by_layer.jobs import Job, keys_of
from probe.by_layer.measurement import Key
from scenarios.execution.work import Ended, Event, Work, carry_out

# Returns the next job, or None if there is none now; there may be one later.
Take = Callable[[], Job | None]

# A job in another process: its future, and a function that returns how it ended, once
# the future is done.
Started = tuple[Future[Ended], Callable[[], Ended]]

RETRIES = 2  # of a job whose process was killed
_POLL = 0.2  # seconds between two looks at the measurements of other processes
_POLL_LOCKED = 0.5  # and at their jobs


# Does the jobs that `take` returns, perhaps in parallel, and yields their events until
# all have ended. Every job ends with one `Ended`, after all of its measurements; then
# `take` may return another. Closing the generator ends everything that it started. It
# raises NotWritten as `carry_out` does. On a CPU all executors give the same bits.
Executor = Callable[[Work, Take], Generator[Event]]


def inline(work: Work, take: Take) -> Generator[Event]:
    """Do jobs in this process, one after the other: the simplest executor to debug."""
    while job := take():
        yield from carry_out(work, job)


def follow(
    work: Work, take: Take, room: Callable[[], int], start: Callable[[Job], Started]
) -> Generator[Event]:
    """Do jobs in other processes and yield their events, see `Executor`.

    Args:
        work: The plan and its run directory.
        take: A function that returns the next job.
        room: A function that returns the number of jobs that may run at a time.
        start: A function that starts a job.

    Yields:
        The events.
    """
    running = dict[Job, Started]()
    finished = dict[Job, set[Key]]()
    while True:
        while len(running) < room() and (job := take()):
            finished[job] = work.finished(job)
            running[job] = start(job)
        if not running:
            return
        futures = [future for future, _ in running.values()]
        done, _ = wait(futures, timeout=_POLL, return_when=FIRST_COMPLETED)
        # Looked for after the wait: of a job that has ended, all measurements are found.
        for job in running:
            new = work.finished(job) - finished[job]
            finished[job] |= new
            yield from ((job, key) for key in sorted(new))
        for job, (future, end) in list(running.items()):
            if future in done:
                del running[job]
                yield end()


def execute(
    work: Work, jobs: Sequence[Job], executor: Executor, wait: bool = True
) -> Iterator[Event | int]:
    """Do the unfinished jobs and yield their events; every job ends once, with an `Ended`.

    A job whose process was killed is retried up to RETRIES times. While all jobs that
    are left belong to other processes, these are checked again and again, and each time
    their number is yielded.

    Args:
        work: The plan and its run directory.
        jobs: The jobs in the order of execution; finished ones give no event.
        executor: The executor that does the jobs.
        wait: Whether to wait for the jobs of other processes, and to take over the jobs
            of a process that dies; otherwise they end as `locked`.

    Raises:
        NotWritten: The run directory cannot be written to.
    """
    remaining = deque(job for job in jobs if not work.is_finished(job))
    while remaining:
        locked = yield from _attempts(work, remaining, executor)  # empties `remaining`
        while locked and not remaining:
            # This process holds no lock by now: of several that end without waiting,
            # the last to look here finds everything finished.
            free = [job for job in locked if not work.is_locked(job)]
            locked = [job for job in locked if job not in free]
            for job in free:
                if work.is_finished(job):
                    yield from ((job, key) for key in keys_of(work.plan, job))
                    yield Ended(job=job, how="finished")
                else:
                    remaining.append(job)
            if free:
                continue
            if not wait:
                yield from (Ended(job=job, how="locked") for job in locked)
                return
            yield len(locked)
            time.sleep(_POLL_LOCKED)
        remaining.extend(locked)  # tried again, with those that have become free


def _attempts(
    work: Work, remaining: deque[Job], executor: Executor
) -> Generator[Event, None, list[Job]]:
    """Do the jobs, retrying killed ones; return those that other processes had locked.

    Jobs are taken from the front of `remaining` until it is empty. Killed ones are
    appended to its end.
    """
    killed = Counter[Job]()
    locked = list[Job]()
    with closing(
        executor(work, lambda: remaining.popleft() if remaining else None)
    ) as events:
        for event in events:
            if not isinstance(event, Ended) or event.how in ("finished", "failed"):
                yield event
            elif event.how == "locked":
                locked.append(event.job)
            elif killed[event.job] < RETRIES:
                killed[event.job] += 1
                remaining.append(event.job)
            else:
                reason = f"{event.reason}, {RETRIES + 1} times: use fewer --workers"
                yield replace(
                    event, how="failed", reason=f"{reason} if memory was short"
                )
    return locked
