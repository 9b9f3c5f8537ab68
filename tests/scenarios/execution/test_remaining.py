"""The time left, judged by the median of the finished parts of a kind for the same effort."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.execution.remaining import effort, pace_of, seconds_left
from scenarios.execution.work import carried_out
from probe.by_layer.jobs import Job, parts_of
from tests.scenarios.execution.helpers import jobs_in, work_of

JOB = Job(learner="er", kind="er", order="a", tasks=(0, 1, 2), seed=0)
OTHER = replace(JOB, seed=1)


def test_time_by_effort_and_kind() -> None:
    assert seconds_left({JOB: ["step-1", "feature-conv1"]}, {"step": 2.0}) == 2 + 3 * 2
    assert seconds_left({JOB: ["step-1", "feature-conv1"]}, {"step": 2, "retraining": 5}) == 2 + 15
    assert seconds_left({JOB: ["row-2.conv1.linear-0123abcd"]}, {"step": 4}) == pytest.approx(0.4)
    assert seconds_left({JOB: ["step-1"]}, {}) is None
    assert seconds_left({JOB: []}, {}) == 0


def test_effort_of_controls_and_of_given_networks() -> None:
    offline = replace(JOB, learner="offline", kind="offline")
    cumulative = replace(JOB, learner="cumulative", kind="cumulative")
    assert [effort(each, "step-3") for each in (JOB, offline, cumulative)] == [1, 3, 3]
    assert effort(cumulative, "step-2") == 2
    assert effort(replace(JOB, given=(1, 2, 3)), "step-3") == effort(JOB, "step-0") == 0.1


def test_processes_share_jobs_but_not_a_job() -> None:
    left = {JOB: ["step-1", "step-2"], OTHER: ["step-1"], replace(JOB, seed=2): ["step-1"]}
    expected = {1: 24, 2: 12, 50: 12}  # the longest job takes as long with any number
    assert {n: seconds_left(left, {"step": 6.0}, processes=n) for n in expected} == expected


def stamped(root: Path, name: str, parts: list[str], seconds: list[float]) -> None:
    """Let the parts of a job be written so many seconds after another."""
    [folder] = [path for path in (root / "jobs" / name).iterdir() if path.is_dir()]
    at = 1_000_000_000.0
    for part, took in zip(parts, seconds, strict=True):
        at += took
        os.utime(folder / f"{part}.json", (at, at))


def test_the_pace_is_read_off_the_files(tmp_path: Path) -> None:
    """The median: a job that lay for a night does no harm."""
    work = work_of(tmp_path / "run", learners={"finetune": {}})
    job, *_ = jobs = jobs_in(work)
    carried_out(work, job)
    parts = parts_of(work.setup.study, job)
    stamped(work.root, job.name, parts, [5, 4, 8, 7, 6, 40_000, 10, 30])
    assert pace_of(work.setup, work.root, jobs) == {"step": 7, "retraining": 4}
    # Copied files were all written in a moment.
    stamped(work.root, job.name, parts, [0.0001] * len(parts))
    assert pace_of(work.setup, work.root, jobs) == {}
