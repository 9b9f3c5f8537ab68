"""Parts that other processes finish are reported once, as soon as they are seen."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from probe.by_layer.jobs import Job
from scenarios.execution.executor import Finished
from scenarios.execution.work import Part, Work
from tests.scenarios.execution.helpers import jobs_in, work_of


def write(work: Work, job: Job, part: str) -> Part:
    folder = work.store(job).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in (part, "step-1.checkpoint", "fingerprint", "feature-unasked"):
        (folder / f"{name}.json").touch()
    return Part(job, part)


@pytest.mark.parametrize("seed", range(5))
def test_every_part_is_told_once_and_at_the_next_look(tmp_path: Path, seed: int) -> None:
    """Jobs begin and end in any order, some with parts already; the oracle is a plain set."""
    work = work_of(tmp_path / "run")
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
