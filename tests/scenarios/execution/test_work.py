"""A job carried out under its lock, on one thread, and its reported end."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from probe.by_layer.jobs import Job, keys_of
from probe.by_layer.measurement import Key
from probe.errors import NotWritten
from probe.locks import is_locked
from probe.values.allocation import CacheSettings
from scenarios.execution.pace import effort, pace_of, seconds_left
from scenarios.execution.schedule import inline
from scenarios.execution.work import Ended, carried_out, carry_out
from scenarios.learners.base import Learner
from tests.scenarios.execution.helpers import (
    FIRST,
    finish,
    folder_of,
    jobs_in,
    locked,
    run,
    tables,
    work_of,
)

OUT_OF_MEMORY = (
    "out of memory (OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB "
    "more)"
)
FAILED = (
    "learner finetune, order there, seed 0: after task 2-3 (2 of 5): training diverged"
)


@pytest.fixture
def work(tmp_path):
    return work_of(tmp_path / "run")


def test_measurements_are_reported_on_one_thread_and_then_the_end(work, monkeypatch):
    """A finished job is not begun: not even its data are loaded. What is corrupt is made again."""
    job = jobs_in(work)[0]
    events = []
    with locked(folder_of(work, job)):
        [ended] = carry_out(work, job)
    assert (ended.job, ended.how, work.finished(job)) == (job, "locked", set())
    torch.set_num_threads(2)
    try:
        for event in carry_out(work, job):
            events.append(event)
            assert work.is_locked(job) == isinstance(event, tuple)
            assert torch.get_num_threads() == (1 if isinstance(event, tuple) else 2)
    finally:
        torch.set_num_threads(1)
    last = Ended(job=job, how="finished")
    assert events == [*((job, key) for key in keys_of(work.plan, job)), last]
    assert work.is_finished(job)
    with monkeypatch.context() as patch:
        patch.setattr("scenarios.study.plan._scenario_on", None)
        assert list(carry_out(work, job)) == [last]
    path = work.store(job).folder / "predictions.npz"
    path.write_bytes(path.read_bytes()[:-1])
    assert list(carry_out(work, job)) == events


@pytest.mark.parametrize(("sharing", "budget"), [(None, None), (1, 200), (2, 100)])
def test_workers_elsewhere_share_half_of_the_free_memory(
    work, monkeypatch, sharing, budget
):
    caches = []

    def measured(plan, root, job, source, cache, **_):
        caches.append(cache)
        return ()

    monkeypatch.setattr("scenarios.execution.work.measure_job", measured)
    monkeypatch.setattr("probe.values.allocation.free_memory", lambda _: 400)
    shared = replace(work, sharing=sharing, cache=CacheSettings())
    carried_out(shared, jobs_in(work)[0])
    assert [cache.budget for cache in caches] == [budget]


def test_the_seconds_of_a_measurement_are_those_since_the_one_before(work, monkeypatch):
    clock = SimpleNamespace(perf_counter=count().__next__)
    monkeypatch.setattr("probe.by_layer.engine.time", clock)
    job = jobs_in(work)[0]
    carried_out(work, job)
    measurements = work.store(job).measurements().values()
    assert {measurement.seconds for measurement in measurements} == {1}


@pytest.mark.parametrize(
    ("badly", "how", "reason"),
    [
        ("memory", "killed", "out of memory (MemoryError)"),
        ("gpu", "killed", OUT_OF_MEMORY),
        ("error", "failed", "KeyError: 'nobody foresaw this'"),
        ("misuse", "failed", FAILED),
        ("exit", "failed", "ends the process (SystemExit: 0): return"),
        ("unwritten", "", ""),
    ],
)
def test_a_job_that_ends_badly(tmp_path, badly, how, reason):
    """Finished measurements are kept; only an unforeseen error has a traceback."""
    work = work_of(tmp_path / "run", {FIRST: f"{badly} output after 2"})
    job = jobs_in(work)[0]
    if badly == "unwritten":
        with pytest.raises(NotWritten, match="No space left on device"):
            carried_out(work, job)
    else:
        ended = carried_out(work, job)
        assert (ended.job, ended.how) == (job, how)
        assert ended.reason.endswith(reason)
        assert ("in end_badly" in ended.trace) == (badly == "error")
    assert work.finished(job) == {Key(0), Key(1)}
    assert (work.is_locked(job), torch.get_num_threads()) == (False, 1)
    assert carried_out(work_of(work.root), job).how == "finished"


@pytest.mark.parametrize("compared", ["diagnostics", "inherited"])
def test_each_task_is_learned_once_for_whatever_compares_networks(
    compared, tmp_path, monkeypatch
):
    learned = []
    learn = Learner.learn

    def counted(self, task, *rest):
        learned.append(task.index)
        return learn(self, task, *rest)

    monkeypatch.setattr(Learner, "learn", counted)
    probing = {"readouts": {"ncm": "all"}, "hybrids": 0}
    probing |= {"diagnostics": False, "inherited": False} | {compared: True}
    work = work_of(
        tmp_path / "run", probing=probing, learners={"finetune": {}}, orders="none"
    )
    finish(work, inline)
    assert learned == [1, 2, 3, 4, 5]


def test_a_directory_that_was_moved_away_is_not_made_anew(work):
    job = jobs_in(work)[0]
    moved = work.root.with_name("moved")
    next(events := carry_out(work, job))
    work.root.rename(moved)
    for said, left in (
        ("was its folder moved", events),
        ("is gone", carry_out(work, job)),
    ):
        with pytest.raises(NotWritten, match=said):
            list(left)
    assert not work.root.exists()
    assert not is_locked(moved / "jobs" / FIRST)


def test_a_file_of_the_same_name_with_other_data(tmp_path):
    """In one process, which keeps the data that it has loaded; a worker refuses the others."""
    study = tmp_path / "features.toml"
    file = tmp_path / "birds.npz"
    made = []
    study.write_text(
        f'orders = "none"\n[scenario]\ndata = "{file}"\n[network]\nname = "mlp"\n'
        f"[training]\nepochs = 1\n[learners.finetune]\n"
    )
    for k, seed in enumerate((0, 1, 0)):
        x = np.random.default_rng(seed).normal(size=(40, 6)).astype(np.float32)
        y = np.arange(40) % 4
        np.savez(file, x_train=x, y_train=y, x_test=x, y_test=y)
        assert run(tmp_path / str(k), study)
        made.append(tables(tmp_path / str(k)))
    assert made[0] == made[2] != made[1]
    work = work_of(tmp_path / "run")
    work = replace(work, plan=work.plan.model_copy(update={"data": "0" * 64}))
    ended = carried_out(work, jobs_in(work)[0])
    assert ended.how == "failed"
    assert "are not those of the first run" in ended.reason


# The time left

JOB = Job(learner="er", kind="er", order="a", tasks=(0, 1, 2), seed=0)
OUTPUT = Key(1)
RETRAINED = Key.parse(3, "conv1", "retrain")


def test_time_by_effort_and_kind_and_processes_that_share_jobs_but_not_a_job():
    linear = Key.parse(2, "conv1", "linear", "0123abcd")
    assert seconds_left({JOB: [OUTPUT, RETRAINED]}, {"output": 2.0}) == 2 + 3 * 2
    assert (
        seconds_left({JOB: [OUTPUT, RETRAINED]}, {"output": 2, "retraining": 5})
        == 2 + 15
    )
    assert seconds_left({JOB: [linear]}, {"output": 4}) == pytest.approx(0.4)
    assert seconds_left({JOB: [OUTPUT]}, {}) is None
    offline = replace(JOB, offline=True)
    cumulative = replace(JOB, kind="cumulative")
    assert [effort(each, Key(2)) for each in (JOB, offline, cumulative)] == [1, 3, 2]
    left = {JOB: [OUTPUT, Key(2)], **{replace(JOB, seed=k): [OUTPUT] for k in (1, 2)}}
    expected = {1: 24, 2: 12, 50: 12}  # the longest job takes as long with any number
    assert {
        n: seconds_left(left, {"output": 6.0}, processes=n) for n in expected
    } == expected


def test_the_pace_is_the_median_of_what_measurements_took(tmp_path):
    """So that a job paused for a night does no harm; nothing is known of a study not begun."""
    work = work_of(tmp_path / "run", learners={"finetune": {}})
    job, *_ = jobs = jobs_in(work)
    assert pace_of(work.plan, work.root, jobs) == {}
    carried_out(work, job)
    store = work.store(job)
    took = zip(keys_of(work.plan, job), [0.1, 4, 8, 7, 6, 40_000, 20, 30], strict=True)
    for (key, seconds), measurement in zip(
        took, store.measurements().values(), strict=True
    ):
        store.write(key, replace(measurement, seconds=seconds))
    assert pace_of(work.plan, work.root, jobs) == {"output": 6.5, "retraining": 5}
