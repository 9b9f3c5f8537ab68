"""What other processes finish is told once, as soon as it is seen, and not of jobs that ended."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from scenarios.execution.executor import Finished
from scenarios.execution.work import Part, Work
from scenarios.study.jobs import Job
from tests.scenarios.execution.helpers import jobs_in, work_of

ACTIONS = ["early", "begin", *["finish"] * 6, "look", "look", "end"]


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
    """Jobs begin and end in any order, some with parts already; what is whose is a plain set."""
    chance, seen, news = random.Random(seed), Finished(work), set[Part]()
    waiting, running = jobs_in(work), list[Job]()
    told = 0
    while waiting or running:
        match chance.choice(ACTIONS):
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
                told += len(last)
                news -= last
    assert told > 5


def test_a_job_that_has_ended_is_looked_at_no_more(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten thousand jobs those that are being done are looked at, a few times a second."""
    seen, looked = Finished(work), list[Job]()
    finished = Work.finished

    def noting(work: Work, job: Job) -> set[str]:
        looked.append(job)
        return finished(work, job)

    monkeypatch.setattr(Work, "finished", noting)
    first, second, *_ = jobs_in(work)
    seen.follow(first)
    seen.follow(second)
    list(seen.new_parts())
    assert looked == [first, second] * 2
    list(seen.last_parts(first))
    looked.clear()
    list(seen.new_parts())
    assert looked == [second]


def test_a_strange_file_is_no_part(work: Work) -> None:
    job, seen = jobs_in(work)[0], Finished(work)
    seen.follow(job)
    for name in ("notes", "step-1.checkpoint", "fingerprint", "feature-unasked"):
        write(work, job, name)
    assert list(seen.new_parts()) == []
    known = write(work, job, "step-0")
    assert list(seen.last_parts(job)) == [known]


def test_a_job_that_is_tried_again_has_no_old_news(work: Work) -> None:
    job, seen = jobs_in(work)[0], Finished(work)
    for part in ("step-0", "step-1"):
        seen.follow(job)
        assert list(seen.new_parts()) == []
        told = write(work, job, part)
        assert list(seen.last_parts(job)) == [told]
