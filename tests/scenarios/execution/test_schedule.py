"""All jobs to their end: killed ones again, those of others skipped, waited for and taken over."""

import shutil
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from probe.by_layer.measurement import Key
from scenarios.execution.schedule import RETRIES, execute, inline
from scenarios.execution.work import Ended, carry_out
from tests.scenarios.execution.helpers import folder_of, jobs_in, locked, work_of


@dataclass
class Scripted:
    """Ends the attempts of each job as scripted, one after the other; then they are finished."""

    script: dict[str, list[str]] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    rounds: int = 0

    def __call__(self, work, take):
        self.rounds += 1
        left = defaultdict(list, self.script)
        while job := take():
            self.tried.append(job.name)
            how = (left[job.name] or ["finished"]).pop(0)
            yield (job, Key(0))
            how = "locked" if work.is_locked(job) else how
            yield Ended(job=job, how=how, reason="its worker was killed")


@pytest.fixture
def work(tmp_path, monkeypatch):
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
def test_attempts_of_a_job(work, hows, ended, tries, rounds):
    """It is tried again after the others, and ends once."""
    names = [job.name for job in jobs_in(work)]
    executor = Scripted({names[0]: list(hows)})
    ends = [e for e in execute(work, jobs_in(work), executor) if isinstance(e, Ended)]
    assert {end.job.name: end.how for end in ends} == dict.fromkeys(
        names, "finished"
    ) | {names[0]: ended}
    assert len(ends) == len(names)
    assert executor.tried == names + [names[0]] * (tries - 1)
    assert executor.rounds == rounds


@pytest.mark.parametrize("wait", [True, False])
def test_locked_jobs_are_skipped_and_then_waited_for_or_left(work, wait):
    """Done here once they are free, unless somebody has finished them."""
    first, second, *others = jobs_in(work)
    ends = []
    waited = []
    with ExitStack() as locks:
        locks.enter_context(locked(folder_of(work, second)))
        script = Scripted({first.name: ["locked"]})
        for event in execute(work, jobs_in(work), script, wait=wait):
            if isinstance(event, int):
                waited.append(event)
                if len(waited) == 3:
                    locks.close()
            elif isinstance(event, Ended):
                ends.append((event.job, event.how))
    assert waited == [1] * 3 * wait
    last = (second, "finished" if wait else "locked")
    assert ends == [*((job, "finished") for job in (*others, first)), last]


def test_measurements_that_another_process_finishes_are_reported_once(work, tmp_path):
    """As if they had been computed here."""
    job = jobs_in(work)[-1]
    other = work_of(tmp_path / "other")
    *parts, _ = carry_out(other, job)
    events = []
    with ExitStack() as locks:
        locks.enter_context(locked(folder_of(work, job)))
        for event in execute(work, [job], inline):
            if isinstance(event, int):
                shutil.copytree(
                    other.root / "jobs", work.root / "jobs", dirs_exist_ok=True
                )
                locks.close()
            else:
                events.append(event)
    assert events == [*parts, Ended(job=job, how="finished")]
    # Finished jobs are not begun.
    assert list(execute(work, [job], Scripted())) == []
