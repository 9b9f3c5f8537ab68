"""What other processes finish is told once, as soon as it is seen, and not of jobs that ended."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from scenarios.execution.following import Following

from scenarios.execution.work import Part, Work
from scenarios.study.job import Job, parts_of
from tests.scenarios.execution.quick import jobs_in, study_of, work_of

ACTIONS = ["early", "begin", *["finish"] * 6, "look", "look", "end"]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return work_of(tmp_path / "run", study_of())


def left(work: Work, job: Job) -> list[str]:
    return sorted(set(parts_of(work.identity.study, job)) - work.finished(job))


def finish(work: Work, job: Job, part: str) -> Part:
    folder = work.root / "jobs" / job.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part}.json").touch()
    return Part(job, part)


@pytest.mark.parametrize("seed", range(5))
def test_every_part_is_told_once_and_at_the_next_look(work: Work, seed: int) -> None:
    """Jobs begin and end in any order, some with parts already; what is whose is a plain set."""
    chance, seen, news = random.Random(seed), Following(work), set[Part]()
    waiting, running = jobs_in(work), list[Job]()
    told = 0
    while waiting or running:
        match chance.choice(ACTIONS):
            case "early" if waiting:
                job = chance.choice(waiting)
                finish(work, job, chance.choice(parts_of(work.identity.study, job)))
            case "begin" if waiting:
                running.append(waiting.pop(chance.randrange(len(waiting))))
                seen.add(running[-1])
            case "finish" if running:
                job = chance.choice(running)
                news |= {finish(work, job, part) for part in left(work, job)[:1]}
            case "look":
                found = list(seen.new_parts())
                assert Counter(found) == Counter(news)
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
    seen, looked = Following(work), list[Job]()
    finished = Work.finished

    def noting(work: Work, job: Job) -> set[str]:
        looked.append(job)
        return finished(work, job)

    monkeypatch.setattr(Work, "finished", noting)
    first, second, *_ = jobs_in(work)
    seen.add(first)
    seen.add(second)
    list(seen.new_parts())
    assert looked == [first, second] * 2
    list(seen.last_parts(first))
    looked.clear()
    list(seen.new_parts())
    assert looked == [second]


def test_a_strange_file_is_no_part(work: Work) -> None:
    job = jobs_in(work)[0]
    seen = Following(work)
    seen.add(job)
    finish(work, job, "notes")
    finish(work, job, "step-1.checkpoint")
    known = finish(work, job, "step-0")
    assert list(seen.new_parts()) == [known]
    finish(work, job, "feature-unasked")
    assert list(seen.last_parts(job)) == []


def test_a_job_that_is_tried_again_has_no_old_news(work: Work) -> None:
    job = jobs_in(work)[0]
    seen = Following(work)
    seen.add(job)
    first = finish(work, job, "step-0")
    assert list(seen.last_parts(job)) == [first]
    seen.add(job)
    assert list(seen.new_parts()) == []
    second = finish(work, job, "step-1")
    assert list(seen.new_parts()) == [second]
    assert list(seen.last_parts(job)) == []
