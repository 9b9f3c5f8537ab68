"""Workers of a pool that are killed: a measurement of their job is lost, nobody left behind."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from scenarios.execution.pool import pool
from scenarios.execution.schedule import execute, inline
from scenarios.execution.work import Ended
from tests.scenarios.execution.helpers import (
    SICK,
    alive,
    child,
    finish,
    ignores_ctrl_c,
    jobs_in,
    tables,
    until,
    waiting,
    work_of,
    workers_of,
)
from tests.scenarios.tiny_run import measured
from tests.slow.helpers import killer, parent_of

pytestmark = pytest.mark.slow


class Watched:
    """A pool of two that notes the jobs whose worker was killed."""

    def __init__(self):
        self.killed = []

    def __call__(self, work, take):
        for event in pool(["cpu"] * 2, work, take):
            if isinstance(event, Ended) and event.how == "killed":
                self.killed.append(event.job.name)
            yield event


def test_killed_workers_cost_their_own_job_a_measurement(tmp_path, finished):
    """Before the job's first measurement, halfway and in the last; the other worker goes on."""
    first, second, third, *_ = (job.name for job in jobs_in(work_of(tmp_path / "run")))
    moments = {
        first: "wait output after 0",
        second: "wait output after 3",
        third: "wait retrain of hidden2 after 5",
    }
    work = work_of(tmp_path / "run", moments)
    kept = []

    def choose(job):
        process = waiting(work, job)
        if process:
            kept.append(measured(work.root, job))
        return process

    watched = Watched()
    with killer(*(partial(choose, job) for job in moments)):
        ends = finish(work, watched)
    assert {end.how for end in ends.values()} == {"finished"}
    assert sorted(watched.killed) == sorted(moments)
    assert tables(work.root) == tables(finished)
    assert all(measured(work.root).items() >= before.items() for before in kept)
    assert max(map(len, kept)) > 6


def test_a_worker_killed_between_two_jobs_is_replaced(tmp_path, monkeypatch):
    """Its next job has lost no attempt."""
    work = work_of(tmp_path / "run")
    pools = []
    remaining = jobs_in(work)[:2]

    def new_pool(*arguments, **flags):
        pools.append(ProcessPoolExecutor(*arguments, **flags))
        return pools[-1]

    def take():
        if len(remaining) == 1:
            [worker] = workers_of(os.getpid())
            os.kill(worker, signal.SIGKILL)
            # Its pool knows that it is gone before it is given the next job.
            until(lambda: pools[-1]._broken)
        if remaining:
            return remaining.pop(0)
        return None

    monkeypatch.setattr("scenarios.execution.pool.ProcessPoolExecutor", new_pool)
    ends = [event for event in pool(["cpu"], work, take) if isinstance(event, Ended)]
    assert [end.how for end in ends] == ["finished"] * 2
    assert len(pools) == 2


@pytest.mark.soak
def test_the_server_that_forks_them_is_killed(tmp_path, finished):
    """With it all workers are lost, once."""
    work = work_of(tmp_path / "run", {SICK: "wait output after 3"})
    watched = Watched()

    def server():
        process = waiting(work, SICK)
        return process and parent_of(process)

    with killer(server):
        ends = finish(work, watched)
    assert {end.how for end in ends.values()} == {"finished"}
    assert SICK in watched.killed
    assert tables(work.root) == tables(finished)
    assert not alive(waiting(work, SICK) or 0)


def test_killed_every_time(tmp_path, finished):
    """A job that kills whoever does it is given up, and tried again by the next command."""
    work = work_of(tmp_path / "run", {SICK: "kill output after 2"})
    watched = Watched()
    ends = finish(work, watched)
    assert watched.killed == [SICK] * 3
    assert [name for name, end in ends.items() if end.how != "finished"] == [SICK]
    assert ends[SICK].reason == (
        "its worker was killed, 3 times: use fewer --workers if memory was short"
    )
    there, whole = (
        set(tables(root)["measurements.csv"].splitlines())
        for root in (work.root, finished)
    )
    assert there < whole
    before = measured(work.root)
    assert list(finish(work_of(work.root), inline)) == [SICK]
    assert tables(work.root) == tables(finished)
    assert measured(work.root).items() > before.items()


def test_workers_go_with_their_parent(tmp_path):
    """In the middle of a job; they ignore Ctrl-C, as the parent decides for them."""
    badly = {
        job.name: "wait output after 1" for job in jobs_in(work_of(tmp_path / "run"))
    }
    work = work_of(tmp_path / "run", badly)

    def execute_all():
        # A shell lets what it starts in the background ignore it, and all that this
        # starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        list(execute(work, jobs_in(work), partial(pool, ["cpu"] * 2)))

    def at_work():
        processes = [waiting(work, job.name) for job in jobs_in(work)]
        return list(filter(None, processes))

    with child(execute_all) as parent:
        until(lambda: len(at_work()) == 2)
        workers = at_work()
        assert all(map(ignores_ctrl_c, workers))
        os.kill(parent, signal.SIGKILL)
        until(lambda: not any(map(alive, workers)))
    assert not any(map(work.is_locked, jobs_in(work)))
