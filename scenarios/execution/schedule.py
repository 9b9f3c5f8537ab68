"""All jobs of a study to their end: tried again if killed, left to others who do them.

Several processes may run the same study on one directory, and any of them may die. Each does two
steps in turn. First it does every job that no other process has locked. Then it looks at the jobs
that were locked: those whose lock is free again are finished, or are done here.

When there is more than one process, somebody has to be the last, who writes the tables of all. A
process that does not wait first gives all of its own locks back and then looks; so of two that end
at the same time, at least the later one finds no lock held and everything finished.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from scenarios.execution.executor import Executor
from scenarios.execution.work import Ended, Event, Part, Work
from probe.by_layer.jobs import Job

RETRIES = 2
"""How often a job is tried again whose process was killed."""

_POLL = 0.5  # seconds between two looks at what other processes do


@dataclass(frozen=True)
class Waiting:
    """Nothing is left but this many jobs, which other processes do.

    jobs: their number. It comes again with each look, every half a second.
    """

    jobs: int


def execute(
    work: Work, jobs: Sequence[Job], executor: Executor, wait: bool = True
) -> Iterator[Event | Waiting]:
    """Do what is left of the jobs and yield what happens; every job ends once, with an `Ended`.

    jobs: in the order in which they are begun; those that are finished already give no event. wait:
    whether to stay until other processes have done theirs. A job that another process does is
    skipped. When nothing else is left it is waited for, and done here if that process dies; without
    `wait` it ends as `locked`. A job whose own process was killed is tried again, RETRIES times.
    Raises NotWritten if the run directory cannot be written to; what was finished is kept.
    """
    left = deque(job for job in jobs if not work.is_finished(job))
    while left:
        locked = yield from _attempts(work, left, executor)
        while locked and not left:
            # All locks of this process are given back by now. So of several processes that end
            # without waiting, the last to look here sees everything finished.
            free = [job for job in locked if not work.is_locked(job)]
            locked = [job for job in locked if job not in free]
            for job in free:
                if work.is_finished(job):
                    yield from (Part(job, part) for part in work.parts(job))
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
    """Do the jobs, killed ones again; return those that were locked by other processes.

    left: jobs are taken from its front, killed ones put at its end.
    """
    killed: Counter[Job] = Counter()
    locked: list[Job] = []
    with closing(executor.events(work, lambda: left.popleft() if left else None)) as events:
        for event in events:
            if isinstance(event, Part):
                yield event
            elif event.how == "locked":
                locked.append(event.job)
            elif event.how == "killed" and killed[event.job] < RETRIES:
                killed[event.job] += 1
                left.append(event.job)
            else:
                yield _final(event)
    return locked


def _final(ended: Ended) -> Ended:
    """Return how a job has ended for good: one killed too often has failed."""
    if ended.how != "killed":
        return ended
    reason = (
        f"{ended.reason}, {RETRIES + 1} times: if memory was short, run the same command again "
        f"with fewer --workers"
    )
    return replace(ended, how="failed", reason=reason)
