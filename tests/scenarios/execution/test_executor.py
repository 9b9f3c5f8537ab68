"""What other processes finish is told once, as soon as it is seen, and not of jobs that ended."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from probe.by_layer.jobs import Job
from scenarios.execution.executor import Finished
from scenarios.execution.work import Part, Work
from tests.scenarios.execution.helpers import jobs_in, work_of


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return work_of(tmp_path / "run")


def write(work: Work, job: Job, part: str) -> Part:
    folder = work.store(job).folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part}.json").touch()
    return Part(job, part)


@pytest.mark.parametrize("seed", range(5))
def test_every_part_is_told_once_and_at_the_next_look(work: Work, seed: int) -> None:
    """Jobs begin and end in any order, some with parts already; what is news is a plain set."""
    chance, seen, news, told = random.Random(seed), Finished(work), set[Part](), 0
    waiting, running = jobs_in(work), list[Job]()
    while waiting or running:
        match chance.choice(["early", "begin", *["finish"] * 6, "look", "look", "end"]):
            case "early" if waiting:
                job = chance.choice(waiting)
                write(work, job, chance.choice(work.parts(job)))
            case "begin" if waiting:
                running.append(waiting.pop(chance.randrange(len(waiting))))
                seen.follow(running[-1])
            case "finish" if running:
                job = chance.choice(running)
                left = sorted(set(work.parts(job)) - work.finished(job))
                news |= {write(work, job, part) for part in left[:1]}
            case "look":
                assert Counter(seen.new_parts()) == Counter(news)
                told += len(news)
                news.clear()
            case "end" if running:
                job = running.pop(chance.randrange(len(running)))
                last = {part for part in news if part.job == job}
                assert Counter(seen.last_parts(job)) == Counter(last)
                news -= last
    assert told > 3


def test_only_jobs_that_run_are_looked_at_and_only_parts_told(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten thousand jobs those that are being done are looked at, a few times a second."""
    seen, looked, finished = Finished(work), list[Job](), Work.finished
    monkeypatch.setattr(Work, "finished", lambda *of: looked.append(of[1]) or finished(*of))
    first, second, *_ = jobs_in(work)
    for job in (first, second):
        seen.follow(job)
    for name in ("notes", "step-1.checkpoint", "fingerprint", "feature-unasked"):
        write(work, first, name)
    assert list(seen.new_parts()) == []
    assert looked == [first, second] * 2
    assert list(seen.last_parts(first)) == []
    looked.clear()
    assert list(seen.new_parts()) == []
    assert looked == [second]
