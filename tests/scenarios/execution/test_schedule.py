"""Which jobs are tried, how often and in which order, told by an executor that does nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from probe.errors import NotWritten
from scenarios.execution.executor import Take
from scenarios.execution.schedule import RETRIES, execute
from scenarios.execution.work import Ended, Event, Part, Work
from tests.scenarios.execution.quick import jobs_in, study_of, work_of


@dataclass
class Scripted:
    """Ends the attempts of each job as told, one after the other; then they are finished."""

    script: dict[str, list[str]]
    tried: list[str] = field(default_factory=list)
    rounds: int = 0
    closed: int = 0

    def events(self, work: Work, take: Take) -> Generator[Event]:
        self.rounds += 1
        left = defaultdict(list, self.script)
        try:
            while attempt := take():
                self.tried.append(attempt.job.name)
                how = (left[attempt.job.name] or ["finished"]).pop(0)
                if how == "unwritten":
                    raise NotWritten("no room")
                yield Part(attempt.job, "step-0")
                yield Ended(job=attempt.job, how=how, reason="its worker was killed")
        finally:
            self.closed += 1


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return work_of(tmp_path / "run", study_of())


def ends(work: Work, executor: Scripted) -> dict[str, str]:
    """Return how each job ended; every one ends once."""
    found = [event for event in execute(work, jobs_in(work), executor) if isinstance(event, Ended)]
    assert sorted(end.job.name for end in found) == sorted(job.name for job in jobs_in(work))
    return {end.job.name: end.how for end in found}


def test_a_killed_job_is_tried_again_after_the_others(work: Work) -> None:
    first, *others = (job.name for job in jobs_in(work))
    executor = Scripted({first: ["killed"] * RETRIES})
    assert set(ends(work, executor).values()) == {"finished"}
    assert executor.tried == [first, *others, first, first]
    assert (executor.rounds, executor.closed) == (1, 1)


def test_killed_too_often_it_fails(work: Work) -> None:
    first, *others = (job.name for job in jobs_in(work))
    executor = Scripted({first: ["killed"] * (RETRIES + 1)})
    assert ends(work, executor) == {first: "failed", **dict.fromkeys(others, "finished")}
    assert executor.tried.count(first) == RETRIES + 1


def test_each_job_has_retries_of_its_own(work: Work) -> None:
    script = {job.name: ["killed"] * RETRIES for job in jobs_in(work)}
    assert set(ends(work, Scripted(script)).values()) == {"finished"}


def test_what_failed_is_not_tried_again(work: Work) -> None:
    first, *_ = (job.name for job in jobs_in(work))
    executor = Scripted({first: ["failed"]})
    assert ends(work, executor)[first] == "failed"
    assert executor.tried.count(first) == 1


def test_a_job_that_its_holder_has_left_is_tried(work: Work) -> None:
    """It was held when it was tried, and then nobody's: in a second round it is finished."""
    first, *_ = (job.name for job in jobs_in(work))
    executor = Scripted({first: ["held"]})
    assert set(ends(work, executor).values()) == {"finished"}
    assert executor.tried.count(first) == 2
    assert (executor.rounds, executor.closed) == (2, 2)


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
