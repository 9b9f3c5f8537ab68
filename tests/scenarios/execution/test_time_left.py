"""The time left, judged by the median of the finished parts of a kind for the same effort."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from probe.by_layer.jobs import Job, parts_of
from scenarios.execution.time_left import effort, pace_of, seconds_left
from scenarios.execution.work import carried_out
from tests.scenarios.execution.helpers import jobs_in, work_of

JOB = Job(learner="er", kind="er", order="a", tasks=(0, 1, 2), seed=0)


@pytest.mark.parametrize(
    ("parts", "pace", "seconds"),
    [
        ("step-1 feature-conv1", {"step": 2.0}, 2 + 3 * 2),
        ("step-1 feature-conv1", {"step": 2, "retraining": 5}, 2 + 15),
        ("row-2.conv1.linear-0123abcd", {"step": 4}, pytest.approx(0.4)),
        ("step-1", {}, None),
    ],
)
def test_time_by_effort_and_kind(parts: str, pace: dict[str, float], seconds: object) -> None:
    assert seconds_left({JOB: parts.split()}, pace) == seconds


def test_processes_share_jobs_but_not_a_job() -> None:
    offline, cumulative = replace(JOB, offline=True), replace(JOB, kind="cumulative")
    assert [effort(each, "step-2") for each in (JOB, offline, cumulative)] == [1, 3, 2]
    left = {JOB: ["step-1", "step-2"], **{replace(JOB, seed=k): ["step-1"] for k in (1, 2)}}
    expected = {1: 24, 2: 12, 50: 12}  # the longest job takes as long with any number
    assert {n: seconds_left(left, {"step": 6.0}, processes=n) for n in expected} == expected


def test_the_pace_is_read_off_the_files(tmp_path: Path) -> None:
    """The median, so that a job paused for a night does no harm; nothing of copied files."""
    work = work_of(tmp_path / "run", learners={"finetune": {}})
    job, *_ = jobs = jobs_in(work)
    carried_out(work, job)
    for took, pace in (
        ([5, 4, 8, 7, 6, 40_000, 10, 30], {"step": 7, "retraining": 4}),
        ([0.0001] * 8, {}),
    ):
        at = 1_000_000_000.0
        for part, seconds in zip(parts_of(work.plan, job), took, strict=True):
            at += seconds
            os.utime(work.store(job).folder / f"{part}.json", (at, at))
        assert pace_of(work.plan, work.root, jobs) == pace
