"""All jobs of a study to their end: tried again if killed, left to others who have them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from scenarios.execution.claims import Watch
from scenarios.execution.executor import Executor
from scenarios.execution.work import Attempt, Ended, Event, Part, Work
from scenarios.study.job import Job, parts_of

RETRIES = 2
"""How often a job is tried again whose process was killed."""

_PATIENCE = 1.0  # seconds at most between two looks at what other processes do


@dataclass(frozen=True)
class Waiting:
    """Nothing is left but what other processes do; holder: one of them."""

    jobs: int
    holder: str


def execute(
    work: Work, jobs: Sequence[Job], executor: Executor, wait: bool = True
) -> Iterator[Event | Waiting]:
    """Do what is left of the jobs and yield what happens; every job ends once, with an `Ended`.

    A job that another process has is waited for, and taken over if that process is gone; without
    `wait` it ends as `held` once that process was seen to be alive. A job whose process was killed
    is tried again, RETRIES times. Raises NotWritten if the run directory cannot be written to; what
    was finished is kept.
    """
    left = deque(Attempt(job) for job in jobs if not work.is_finished(job))
    others = _Others(work)
    tries: Counter[Job] = Counter()
    held: list[Job] = []
    while left:
        held = []
        with closing(executor.events(work, lambda: left.popleft() if left else None)) as events:
            for event in events:
                if isinstance(event, Part):
                    yield event
                elif event.how == "held":
                    held.append(event.job)
                elif event.how == "killed" and tries[event.job] < RETRIES:
                    tries[event.job] += 1
                    left.append(Attempt(event.job))
                else:
                    yield _final(event)
        held, free = yield from others.look(held)
        while held and not free and (wait or others.doubtful(held)):
            yield Waiting(len(held), others.holder)
            time.sleep(min(_PATIENCE, work.lease / 10))
            held, free = yield from others.look(held)
        left.extend(free)
        # What else is there to do comes first; then they are looked at again.
        left.extend(Attempt(job) for job in held if free)
    yield from (Ended(job=job, how="held", reason=others.holder) for job in held)


def _final(ended: Ended) -> Ended:
    if ended.how != "killed":
        return ended
    reason = (
        f"{ended.reason}, {RETRIES + 1} times: if memory was short, run the same command again "
        f"with fewer --workers"
    )
    return replace(ended, how="failed", reason=reason)


class _Others:
    """The processes that have jobs which this one wants done; holder: one of them."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._watch = Watch(work.lease)
        self.holder = ""

    def look(self, jobs: Sequence[Job]) -> Generator[Event, None, tuple[list[Job], list[Attempt]]]:
        """Return which of the jobs are still held, and which can be done; yield what is finished.

        Who looks has given back its own locks before. So of all that end without waiting, the last
        to look sees everything finished.
        """
        held, free = [], []
        locks = {lock.name: lock for lock in self._work.claims.all_seen()} if jobs else {}
        for job in jobs:
            lock = locks.get(job.name)
            if lock and not lock.dead and not self._watch.stale(lock):
                self.holder = lock.holder
                held.append(job)
            elif self._work.is_finished(job):
                parts = parts_of(self._work.identity.study, job)
                yield from (Part(job, part) for part in parts)
                yield Ended(job=job, how="finished")
            else:
                free.append(Attempt(job, lock))
        return held, free

    def doubtful(self, jobs: Sequence[Job]) -> bool:
        """Whether the holder of one of the jobs has yet to be seen to be alive."""
        return not all(self._watch.renewed(job.name) for job in jobs)
