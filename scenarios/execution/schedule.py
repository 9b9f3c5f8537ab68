"""The schedule of a study's jobs: killed jobs are retried, locked ones left to other processes.

Several processes may run a study on one directory, and any of them may die. Each repeats two steps:
it does every job that no other process has locked; then it looks at the locked ones, and does those
that are free but not finished.

The last process must write all tables. A process that does not wait first releases all of its locks
and then looks: of two that end at the same time, at least the later one finds no lock held and
everything finished.
"""

import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from probe.by_layer.jobs import Job
from scenarios.execution.executor import Executor
from scenarios.execution.work import Ended, Event, Measured, Work

RETRIES = 2
"""The number of retries of a job whose process was killed."""

_POLL = 0.5  # seconds between two looks at the jobs of other processes


@dataclass(frozen=True)
class Waiting:
    """Event: only jobs of other processes are left; jobs: their number, at each look."""

    jobs: int


def execute(
    work: Work, jobs: Sequence[Job], executor: Executor, wait: bool = True
) -> Iterator[Event | Waiting]:
    """Do the unfinished jobs and yield their events; every job ends once, with an `Ended`.

    jobs: in the order of execution; finished ones give no event. A job of another process is left
    to the end, and done here if that process dies; without `wait` it ends as `locked`. A job whose
    process was killed is retried RETRIES times. Raises NotWritten if the run directory cannot be
    written to.
    """
    left = deque(job for job in jobs if not work.is_finished(job))
    while left:
        locked = yield from _attempts(work, left, executor)
        while locked and not left:
            # This process holds no lock by now: of several that end without waiting, the last to
            # look here finds everything finished.
            free = [job for job in locked if not work.is_locked(job)]
            locked = [job for job in locked if job not in free]
            for job in free:
                if work.is_finished(job):
                    yield from (Measured(job, key) for key in work.keys(job))
                    yield Ended(job=job, how="finished")
                else:
                    left.append(job)
            if not free and not wait:
                yield from (Ended(job=job, how="locked") for job in locked)
                return
            if not free:
                yield Waiting(len(locked))
                time.sleep(_POLL)
        left.extend(locked)


def _attempts(
    work: Work, left: deque[Job], executor: Executor
) -> Generator[Event, None, list[Job]]:
    """Do the jobs, retrying killed ones; return those that other processes had locked.

    left: jobs are taken from its front, killed ones appended to its end.
    """
    killed: Counter[Job] = Counter()
    locked: list[Job] = []
    with closing(executor.events(work, lambda: left.popleft() if left else None)) as events:
        for event in events:
            if isinstance(event, Measured):
                yield event
            elif event.how == "locked":
                locked.append(event.job)
            elif event.how != "killed":
                yield event
            elif killed[event.job] < RETRIES:
                killed[event.job] += 1
                left.append(event.job)
            else:
                reason = (
                    f"{event.reason}, {RETRIES + 1} times: if memory was short, run the same "
                    f"command again with fewer --workers"
                )
                yield replace(event, how="failed", reason=reason)
    return locked
