"""The time left: what the same part took elsewhere, by effort where that is not known."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.execution.remaining import Pace, effort, pace_of, seconds_left
from scenarios.execution.work import carried_out
from probe.by_layer.jobs import Job, parts_of
from tests.scenarios.execution.helpers import jobs_in, work_of

JOB = Job(learner="er", kind="er", order="a", tasks=(0, 1, 2), seed=0)
OTHER = replace(JOB, seed=1)
SLOW = replace(JOB, learner="slow", kind="ewc")


def test_a_part_takes_what_it_took_in_other_jobs() -> None:
    """A job that lay for a night is one of several: their median."""
    took = [
        (JOB, "step-1", 2.0),
        (OTHER, "step-1", 4.0),
        (replace(JOB, seed=2), "step-1", 30_000.0),
    ]
    pace = Pace.of(took)
    assert pace.seconds(replace(JOB, seed=3), "step-1") == 4.0
    # Nothing is known of this part and learner, but of tasks: they took 2, 4 and 30,000 seconds.
    assert pace.seconds(SLOW, "step-2") == 4.0
    # Retraining trains on all three tasks; a readout takes a tenth of one.
    assert pace.seconds(JOB, "feature-conv1") == 12.0
    assert pace.seconds(JOB, "row-2.conv1.linear-0123abcd") == pytest.approx(0.4)


def test_parts_of_a_kind_are_known_by_their_own() -> None:
    pace = Pace.of([(JOB, "step-1", 2.0), (JOB, "feature-conv1", 30.0)])
    assert pace.seconds(SLOW, "feature-conv2") == 30.0
    assert pace.seconds(SLOW, "step-3") == 2.0


def test_effort_of_levels_and_of_networks_that_are_given() -> None:
    offline = replace(JOB, learner="offline", kind="offline")
    cumulative = replace(JOB, learner="cumulative", kind="cumulative")
    assert [effort(each, "step-3") for each in (JOB, offline, cumulative)] == [1, 3, 3]
    assert effort(cumulative, "step-2") == 2
    assert effort(replace(JOB, given=(1, 2, 3)), "step-3") == effort(JOB, "step-0") == 0.1


def test_processes_share_jobs_but_not_a_job() -> None:
    pace = Pace.of([(JOB, "step-1", 6.0)])
    left = {JOB: ["step-1", "step-2"], OTHER: ["step-1"], SLOW: ["step-1"]}
    assert seconds_left(left, pace) == 24
    assert seconds_left(left, pace, processes=2) == 12
    # The longest job takes as long with any number of processes.
    assert seconds_left(left, pace, processes=50) == 12
    assert seconds_left(left, Pace()) is None
    assert seconds_left({JOB: []}, Pace()) == 0


def stamped(root: Path, name: str, parts: list[str], seconds: list[float]) -> None:
    """Let the parts of a job be written so many seconds after another."""
    [folder] = [path for path in (root / "jobs" / name).iterdir() if path.is_dir()]
    at = 1_000_000_000.0
    for part, took in zip(parts, seconds, strict=True):
        at += took
        os.utime(folder / f"{part}.json", (at, at))


def test_it_is_read_off_the_files(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run", learners={"finetune": {}})
    jobs = jobs_in(work)
    carried_out(work, jobs[0])
    parts = parts_of(work.setup.study, jobs[0])
    seconds = [float(10 * k + 5) for k in range(len(parts))]
    stamped(work.root, jobs[0].name, parts, seconds)
    pace = pace_of(work.setup, work.root, jobs)
    assert [pace.seconds(jobs[1], part) for part in parts[1:]] == seconds[1:]
    # Files that were copied were all written in a moment: of them nothing is known.
    stamped(work.root, jobs[0].name, parts, [0.0001] * len(parts))
    assert pace_of(work.setup, work.root, jobs) == Pace()
