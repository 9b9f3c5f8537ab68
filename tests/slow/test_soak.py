"""Processes that share a run directory, killed -9 at random moments and started again."""

import os
import random
import signal
import time
from contextlib import suppress

import pytest

from probe.by_layer.jobs import jobs_of
from probe.results.run_directory import read_plan, store_of
from tests.scenarios.execution.helpers import (
    alive,
    exit_code,
    fork,
    run,
    tables,
    workers_of,
)
from tests.scenarios.tiny_run import measured

pytestmark = [pytest.mark.slow, pytest.mark.soak]

POOL = {"executor": "pool", "workers": 2}
KINDS = {
    "one of two on one directory": [{}, {}],
    "one of three shards": [{"shard": f"{k}/3"} for k in (1, 2, 3)],
    "a pool's parent": [POOL],
    "a pool's parent and workers": [POOL],
    "a pool's worker": [POOL],
}
"""What is killed, and the flags of each process on one run directory."""


def start(root, flags):
    """Start the study in a process that leads a group."""

    def act():
        os.setsid()
        return run(root, **flags)

    return fork(act)


def assert_whole(root, before):
    """Check that every result and checkpoint is whole, and what was finished the same file."""
    if (root / "study.json").exists():
        plan = read_plan(root)
        for store in (store_of(plan, root, job) for job in jobs_of(plan)):
            assert not store.contents(checkpoints=True)[1]
    assert not (root / "quarantine").exists()
    assert measured(root).items() >= before.items()


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("kind", KINDS)
def test_killed_thrice(tmp_path, finished, kind, seed):
    root = tmp_path / "run"
    chance = random.Random(f"{kind} {seed}")
    before = measured(tmp_path)
    processes = [start(root, flags) for flags in KINDS[kind]]
    for _ in range(3):
        victim = chance.randrange(len(processes))
        files = chance.randrange(100)
        leader = processes[victim]
        while alive(leader) and len(list(root.rglob("*"))) < files:
            time.sleep(chance.uniform(0, 0.02))
        with suppress(OSError):
            if kind != "a pool's worker":
                (os.killpg if "workers" in kind else os.kill)(leader, signal.SIGKILL)
            elif workers := workers_of(leader):
                os.kill(chance.choice(workers), signal.SIGKILL)
        if kind != "a pool's worker":
            assert exit_code(leader) in (0, -signal.SIGKILL)
            processes[victim] = start(root, KINDS[kind][victim])
        assert_whole(root, before)
        before = measured(root)
    assert [exit_code(process) for process in processes] == [0] * len(processes)
    assert_whole(root, before)
    assert tables(root) == tables(finished)
    assert not list(root.rglob("*.tmp"))
    assert not [name for name in ("scratch", "failures") if (root / name).exists()]
