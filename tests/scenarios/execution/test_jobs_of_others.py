"""Jobs that other processes hold: waited for, left to those that are alive, taken over, ended."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest
from scenarios.execution.claims import Held

from scenarios.execution.executor import Take
from scenarios.execution.schedule import Waiting, execute
from scenarios.execution.work import Attempt, Ended, Event, Part, Work, carry_out
from scenarios.study.job import Job
from tests.scenarios.execution.forked import lock_of
from tests.scenarios.execution.quick import jobs_in, study_of, work_of

LEASE = 0.4


class Claiming:
    """Takes the lock of each job, and does nothing with it."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        while attempt := take():
            try:
                with work.claims.held(attempt.job.name, attempt.stale):
                    yield Ended(job=attempt.job, how="finished")
            except Held:
                yield Ended(job=attempt.job, how="held")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return replace(work_of(tmp_path / "run", study_of()), lease=LEASE)


def far(work: Work, job: Job) -> Path:
    """Write the lock of a process on another machine, which may be alive or not."""
    return lock_of(work.root / "locks", job.name, 1, where="far away")


def renewed(lock: Path) -> None:
    time = lock.stat().st_mtime + 1
    os.utime(lock, (time, time))


def ends(
    work: Work, jobs: list[Job], wait: bool, meanwhile: Callable[[int], object]
) -> list[tuple[str, str]]:
    """Return how jobs end, in their order; meanwhile: done while they are waited for.

    It is told how often before.
    """
    found: list[tuple[str, str]] = []
    waited = 0
    for event in execute(work, jobs, Claiming(), wait):
        if isinstance(event, Waiting):
            meanwhile(waited)
            waited += 1
        elif isinstance(event, Ended):
            found.append((event.job.name, event.how))
    assert waited
    return found


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("wait", [True, False])
def test_given_back_one_after_the_other(work: Work, first: int, wait: bool) -> None:
    """Two holders, both alive: one gives its job back, the other goes on for a while.

    That there is something to do is no reason to forget what is still held.
    """
    jobs = jobs_in(work)[:2]
    mine, theirs = jobs[first], jobs[1 - first]
    locks = {job: far(work, job) for job in jobs}

    def meanwhile(waited: int) -> None:
        if waited == 0:
            locks[mine].unlink()
        if waited < 4:
            renewed(locks[theirs])
        else:
            locks[theirs].unlink(missing_ok=True)

    expected = [(mine.name, "finished"), (theirs.name, "finished" if wait else "held")]
    assert ends(work, jobs, wait, meanwhile) == expected


@pytest.mark.parametrize(("then", "how"), [("taken over", "finished"), ("renewed", "held")])
def test_who_takes_over_and_is_not_heard_of_is_not_taken_for_alive(
    work: Work, then: str, how: str
) -> None:
    """Without waiting a job is left to a holder that was seen to renew its lock, and to no other.

    The first holder is of a far machine, and so is the one that takes over from it: both are dead.
    """
    job = jobs_in(work)[0]
    lock = far(work, job)

    def once(waited: int) -> None:
        if waited == 0 and then == "taken over":
            renewed(lock.rename(lock.with_name(f"{job.name}.2.lock")))
        elif waited == 0:
            renewed(lock)

    assert ends(work, [job], False, once) == [(job.name, how)]


@pytest.mark.parametrize("alive", [0, 1, 2])
def test_all_that_are_left_must_have_been_seen_alive(work: Work, alive: int) -> None:
    """Without waiting, of two holders: who is never heard of is taken over from after a lease."""
    jobs = jobs_in(work)[:2]
    locks = [far(work, job) for job in jobs]

    def meanwhile(waited: int) -> None:
        for lock in locks[:alive]:
            renewed(lock)

    found = dict(ends(work, jobs, False, meanwhile))
    assert found == {job.name: "held" if k < alive else "finished" for k, job in enumerate(jobs)}


def test_what_another_has_finished_is_told_part_by_part(work: Work, tmp_path: Path) -> None:
    """As if it had been done here: who follows the study sees every part of it, once."""
    job = jobs_in(work)[-1]
    other = work_of(tmp_path / "other", study_of())
    parts = [event.part for event in carry_out(other, Attempt(job)) if isinstance(event, Part)]
    lock, events = far(work, job), []
    for event in execute(work, [job], Claiming()):
        if isinstance(event, Waiting):
            jobs = work.root / "jobs"
            shutil.copytree(other.root / "jobs", jobs, dirs_exist_ok=True)
            lock.unlink(missing_ok=True)
        else:
            events.append(event)
    assert len(parts) > 1
    *told, last = events
    assert Counter(told) == Counter(Part(job, part) for part in parts)
    assert last == Ended(job=job, how="finished")


def test_what_another_has_finished_meanwhile_is_not_begun(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the moment when it was seen to be left and the lock; not even data are loaded."""
    attempt = Attempt(jobs_in(work)[-1])
    *_, ended = carry_out(work, attempt)
    begun = []

    def run_job(*_: object) -> tuple[str, ...]:
        begun.append("job")
        return ()

    monkeypatch.setattr("scenarios.execution.work._loaded", lambda *_: begun.append("data"))
    monkeypatch.setattr("scenarios.execution.work.run_job", run_job)
    assert list(carry_out(work, attempt)) == [ended]
    assert begun == []
    part = work.root / "jobs" / attempt.job.name / "step-0.json"
    part.write_bytes(part.read_bytes()[:-1])
    assert list(carry_out(work, attempt)) == [ended]
    assert begun == ["data", "job"]
