"""The processes of a pool: deaf to Ctrl-C, gone with their parent, gone when nobody listens."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from probe.processes import birth

from scenarios.execution.pool import Pool
from scenarios.execution.schedule import execute
from scenarios.execution.work import Part
from tests.scenarios.execution.forked import child
from tests.scenarios.execution.quick import (
    Ill,
    children,
    jobs_in,
    study_of,
    until,
    waiting,
    work_of,
    workers_of,
)

STUDY = study_of(learners={"finetune": {}})


@pytest.fixture
def work(tmp_path: Path) -> Ill:
    """Return work of two jobs, which wait to be killed in their second part."""
    plain = work_of(tmp_path / "run", STUDY)
    return work_of(plain.root, STUDY, waits=[(job.name, "step-1") for job in jobs_in(plain)])


def test_they_are_deaf_to_ctrl_c_and_go_with_their_parent(work: Ill) -> None:
    """Deaf while they start and in the middle of a job; there their parent's end is seen, too."""
    workers: frozenset[int] = frozenset()
    try:
        with child(partial(execute_all, work)) as parent:
            until(lambda: len(workers_of(parent)) == 2)
            workers = workers_of(parent)
            interrupt(workers)
            until(lambda: all(waiting(work, job.name)() for job in jobs_in(work)))
            interrupt(workers)
            time.sleep(0.3)
            assert workers_of(parent) == workers
            os.kill(parent, signal.SIGKILL)
            until(lambda: not any(birth(worker) for worker in workers), seconds=5)
    finally:
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def execute_all(work: Ill) -> None:
    # A shell lets what it starts in the background ignore it, and all that this starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    list(execute(work, jobs_in(work), Pool(["cpu"] * 2)))


def interrupt(processes: Iterable[int]) -> None:
    for process in processes:
        os.kill(process, signal.SIGINT)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the block when it takes longer."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_what_they_finish_is_told_at_once_and_they_end_when_nobody_listens(work: Ill) -> None:
    """Their jobs do not end: each has finished a part, and waits."""
    events = execute(work, jobs_in(work), Pool(["cpu"] * 2))
    with at_most(seconds=60):
        told = {next(events), next(events)}
    assert told == {Part(job, "step-0") for job in jobs_in(work)}
    workers = children()
    assert len(workers) == 2
    start = time.monotonic()
    events.close()
    assert time.monotonic() - start < 60
    assert children() == frozenset()
    assert not any(birth(worker) for worker in workers)
