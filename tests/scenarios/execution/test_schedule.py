"""All jobs to their end: killed ones again, those of others skipped, waited for and taken over."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from probe.errors import NotWritten
from scenarios.execution.executor import Inline, Take
from scenarios.execution.schedule import RETRIES, Waiting, execute
from scenarios.execution.work import Ended, Event, Part, Work, carry_out
from tests.scenarios.execution.helpers import jobs_in, locked, work_of


@dataclass
class Scripted:
    """Ends the attempts of each job as scripted, one after the other; then they are finished."""

    script: dict[str, list[str]] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    rounds: int = 0
    closed: int = 0

    def events(self, work: Work, take: Take) -> Generator[Event]:
        self.rounds += 1
        left = defaultdict(list, self.script)
        try:
            while job := take():
                self.tried.append(job.name)
                how = (left[job.name] or ["finished"]).pop(0)
                if how == "unwritten":
                    raise NotWritten("no room")
                yield Part(job, "step-0")
                how = "locked" if work.is_locked(job) else how
                yield Ended(job=job, how=how, reason="its worker was killed")
        finally:
            self.closed += 1


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setattr("scenarios.execution.schedule._POLL", 0.01)
    return work_of(tmp_path / "run")


@pytest.mark.parametrize(
    ("hows", "ended", "tries", "rounds"),
    [
        (["killed"] * RETRIES, "finished", 3, 1),
        (["killed"] * (RETRIES + 1), "failed", 3, 1),
        (["failed"], "failed", 1, 1),
        # Locked when it was tried, then free: finished in a second round.
        (["locked"], "finished", 2, 2),
    ],
)
def test_attempts_of_a_job(
    work: Work, hows: list[str], ended: str, tries: int, rounds: int
) -> None:
    """Each of two has its own; it is tried again after the others, and ends once."""
    names = [job.name for job in jobs_in(work)]
    executor = Scripted({name: list(hows) for name in names[:2]})
    ends = [e for e in execute(work, jobs_in(work), executor) if isinstance(e, Ended)]
    assert Counter(end.job.name for end in ends) == Counter(names)
    assert [end.how for end in ends].count(ended) == (2 if ended == "failed" else 5)
    assert Counter(executor.tried) == {n: tries if n in names[:2] else 1 for n in names}
    assert executor.tried[:5] == names
    assert (executor.rounds, executor.closed) == (rounds, rounds)


@pytest.mark.parametrize("stop", ["unwritten", "nobody listens"])
def test_the_executor_is_closed_whatever_happens(work: Work, stop: str) -> None:
    executor = Scripted({jobs_in(work)[1].name: [stop]})
    events = execute(work, jobs_in(work), executor)
    if stop == "unwritten":
        with pytest.raises(NotWritten):
            list(events)
    else:
        next(events)
        assert executor.closed == 0
        events.close()
    assert executor.closed == 1


@pytest.mark.parametrize("wait", [True, False])
def test_locked_jobs_are_skipped_and_then_waited_for_or_left(work: Work, wait: bool) -> None:
    """Done here once they are free, unless somebody has finished them."""
    first, second, *others = jobs_in(work)
    ends, waited = [], []
    with ExitStack() as locks:
        locks.enter_context(locked(work.folder(second)))
        script = Scripted({first.name: ["locked"]})
        for event in execute(work, jobs_in(work), script, wait=wait):
            if isinstance(event, Waiting):
                waited.append(event.jobs)
                if len(waited) == 3:
                    locks.close()
            elif isinstance(event, Ended):
                ends.append((event.job, event.how))
    assert waited == [1] * 3 * wait
    last = (second, "finished" if wait else "locked")
    assert ends == [*((job, "finished") for job in (*others, first)), last]


def test_parts_that_another_process_finishes_are_reported_once(work: Work, tmp_path: Path) -> None:
    """As if they had been computed here."""
    job, other = jobs_in(work)[-1], work_of(tmp_path / "other")
    *parts, _ = carry_out(other, job)
    events = []
    with ExitStack() as locks:
        locks.enter_context(locked(work.folder(job)))
        for event in execute(work, [job], Inline()):
            if isinstance(event, Waiting):
                shutil.copytree(other.root / "jobs", work.root / "jobs", dirs_exist_ok=True)
                locks.close()
            else:
                events.append(event)
    assert len(parts) > 1
    assert events == [*parts, Ended(job=job, how="finished")]
    # Finished jobs are not begun.
    assert list(execute(work, [job], executor := Scripted())) == []
    assert executor.rounds == 0
