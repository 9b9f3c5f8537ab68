"""The time left, judged by the median of finished measurements of a kind by their effort."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from probe.by_layer.jobs import Job, keys_of
from probe.by_layer.measurement import Key
from scenarios.execution.work import carried_out, effort, pace_of, seconds_left
from tests.scenarios.execution.helpers import jobs_in, work_of

JOB = Job(learner="er", kind="er", order="a", tasks=(0, 1, 2), seed=0)
OUTPUT, RETRAINED = Key(1), Key(3, "conv1", "retrain")


@pytest.mark.parametrize(
    ("keys", "pace", "seconds"),
    [
        ([OUTPUT, RETRAINED], {"output": 2.0}, 2 + 3 * 2),
        ([OUTPUT, RETRAINED], {"output": 2, "retraining": 5}, 2 + 15),
        ([Key(2, "conv1", "linear", "0123abcd")], {"output": 4}, pytest.approx(0.4)),
        ([OUTPUT], {}, None),
    ],
)
def test_time_by_effort_and_kind(keys: list[Key], pace: dict[str, float], seconds: object) -> None:
    assert seconds_left({JOB: keys}, pace) == seconds


def test_processes_share_jobs_but_not_a_job() -> None:
    offline, cumulative = replace(JOB, offline=True), replace(JOB, kind="cumulative")
    assert [effort(each, Key(2)) for each in (JOB, offline, cumulative)] == [1, 3, 2]
    left = {JOB: [OUTPUT, Key(2)], **{replace(JOB, seed=k): [OUTPUT] for k in (1, 2)}}
    expected = {1: 24, 2: 12, 50: 12}  # the longest job takes as long with any number
    assert {n: seconds_left(left, {"output": 6.0}, processes=n) for n in expected} == expected


def test_the_pace_is_the_median_of_what_measurements_took(tmp_path: Path) -> None:
    """So that a job paused for a night does no harm; nothing is known of a study not begun."""
    work = work_of(tmp_path / "run", learners={"finetune": {}})
    job, *_ = jobs = jobs_in(work)
    assert pace_of(work.plan, work.root, jobs) == {}
    carried_out(work, job)
    store = work.store(job)
    took = zip(keys_of(work.plan, job), [0.1, 4, 8, 7, 6, 40_000, 20, 30], strict=True)
    for (key, seconds), measurement in zip(took, store.measurements().values(), strict=True):
        store.write(key, replace(measurement, seconds=seconds))
    assert pace_of(work.plan, work.root, jobs) == {"output": 6.5, "retraining": 5}
