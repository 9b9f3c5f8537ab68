"""Measurements that other processes finish are reported once, and before the end of their job."""

from __future__ import annotations

import random
from concurrent.futures import Future
from pathlib import Path

import pytest

from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Key
from scenarios.execution.schedule import Started, follow
from scenarios.execution.work import Ended, Event
from tests.scenarios.execution.helpers import jobs_in, work_of
from tests.scenarios.study.toy import measurement


@pytest.mark.parametrize("seed", range(3))
def test_every_measurement_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Two jobs at a time write at random moments; those of before a job begins are not reported."""
    monkeypatch.setattr("scenarios.execution.schedule._POLL", 0)
    work, chance = work_of(tmp_path / "run"), random.Random(seed)
    left, running, expected = jobs_in(work), dict[Job, Future[Ended]](), list[Event]()

    def write(job: Job, *keys: Key) -> None:
        for key in (*keys, Key(9, "unasked", "linear")):
            work.store(job).write(key, measurement({"single": [[1]]}))

    def start(job: Job) -> Started:
        running[job] = Future()
        return running[job], lambda: Ended(job=job, how="finished")

    def work_on() -> int:
        assert len(running) <= 2
        for job in list(running):
            missing = work.keys_left(job)
            for key in missing[: chance.randrange(4)]:
                write(job, key)
                expected.append((job, key))
            if not missing:
                expected.append(Ended(job=job, how="finished"))
                running.pop(job).set_result(Ended(job=job, how="finished"))
        return 2

    for job in left[::2]:
        write(job, Key(1))
    events = list(follow(work, lambda: left.pop() if left else None, work_on, start))
    assert len(events) == len(set(events)) == len(expected) > 30
    assert set(events) == set(expected)
    for job in jobs_in(work):
        assert [
            event
            for event in events
            if (event.job if isinstance(event, Ended) else event[0]) == job
        ][-1] == Ended(job=job, how="finished")
