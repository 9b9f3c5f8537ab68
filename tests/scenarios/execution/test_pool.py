"""The processes of a pool: the tables of one process, preloaded, gone when not needed."""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.context import ForkServerProcess

import pytest

from probe.by_layer.measurement import Key
from probe.errors import InputError, NotWritten
from scenarios.environment import variables
from scenarios.execution.pool import _context, pool
from scenarios.execution.schedule import execute, inline
from scenarios.execution.work import Ended
from scenarios.learners.modules import MODULES
from tests.scenarios.execution.helpers import (
    FIRST,
    SICK,
    alive,
    finish,
    ignores_ctrl_c,
    jobs_in,
    tables,
    work_of,
    workers_of,
)

LEARNERS = {"finetune": {}, "offline": {}}
NEEDED = {"scenarios.study.training", *MODULES.values()}
LOADED = f"{NEEDED} <= __import__('sys').modules.keys()"


def test_workers_give_the_same_tables(tmp_path):
    """More workers than jobs do no harm."""
    here, work = (
        work_of(tmp_path / name, learners=LEARNERS) for name in ("inline", "run")
    )
    finish(here, inline)
    assert {end.how for end in finish(work, partial(pool, ["cpu"] * 5)).values()} == {
        "finished"
    }
    assert tables(work.root) == tables(here.root)
    assert workers_of(os.getpid()) == []


def test_workers_are_preloaded():
    """And learners, so that every worker has the same code, even if it is edited meanwhile."""
    with (
        variables({"PYTHONSAFEPATH": "1"}),
        ProcessPoolExecutor(1, _context()) as worker,
    ):
        assert worker.submit(eval, LOADED).result()


def test_measurements_are_reported_at_once_and_workers_end_when_nobody_listens(
    tmp_path,
):
    """Each has finished a measurement, and waits for ever; they ignore Ctrl-C."""
    work = work_of(
        tmp_path / "run", dict.fromkeys((FIRST, SICK), "wait output after 1")
    )
    first, second = jobs_in(work)[:2]
    events = execute(work, jobs_in(work), partial(pool, ["cpu"] * 2))
    assert {next(events), next(events)} == {(job, Key(0)) for job in (first, second)}
    workers = workers_of(os.getpid())
    assert len(workers) == 2
    assert all(map(ignores_ctrl_c, workers))
    events.close()
    assert not any(map(alive, workers))
    assert not work.is_locked(first)


def test_a_worker_that_cannot_write_ends_all(tmp_path):
    work = work_of(
        tmp_path / "run",
        {FIRST: "wait output after 1", SICK: "unwritten output after 2"},
    )
    with pytest.raises(NotWritten, match="No space left on device"):
        finish(work, partial(pool, ["cpu"] * 2))
    assert workers_of(os.getpid()) == []


def test_each_worker_computes_on_its_device(tmp_path):
    """On one of them nothing can be computed."""
    work = work_of(tmp_path / "run")
    events = execute(work, jobs_in(work)[:2], partial(pool, ["cpu", "meta"]))
    ends = {event.job.name: event.how for event in events if isinstance(event, Ended)}
    assert ends == {FIRST: "finished", SICK: "failed"}


def test_a_killed_server_is_told_in_one_sentence(monkeypatch):
    def killed(process):
        raise EOFError

    monkeypatch.setattr(ForkServerProcess, "start", killed)
    with pytest.raises(InputError, match="--workers 1"):
        _context()
