"""Processes that are killed -9: the kernel frees their lock, and whoever comes next goes on."""

import os
import signal
from pathlib import Path

import pytest

from probe.locks import is_locked
from scenarios.commands.run import run_study
from scenarios.options import RunOptions
from tests.scenarios.execution.helpers import (
    TINY,
    child,
    exit_code,
    fork,
    run,
    tables,
    until,
)
from tests.scenarios.tiny_run import measured
from tests.slow.helpers import holders, killed_at, signaled_at

pytestmark = pytest.mark.slow


def is_stopped(process):
    return (
        Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    )


def test_the_other_takes_over_at_once(tmp_path, finished):
    """It waits for its job, and nothing is done again."""
    out = tmp_path / "run"
    with child(
        lambda: exit_code(signaled_at("after-3.pt", signal.SIGSTOP, lambda: run(out)))
    ):
        until(lambda: list(out.glob("jobs/finetune*/*/after-3.pt.*.tmp")))
        [job] = [path for path in (out / "jobs").iterdir() if is_locked(path)]
        other = fork(lambda: run(out))
        until(lambda: len(list(out.glob("jobs/*/*/predictions.npz"))) == 4)
        before = measured(out)
        assert is_locked(job)
        [stopped] = filter(is_stopped, holders(out))
        os.kill(stopped, signal.SIGKILL)
        assert exit_code(other) == 0
    assert tables(out) == tables(finished)
    assert measured(out).items() > before.items()


def test_a_shard_is_killed(tmp_path, finished):
    """Its job is left in the middle; any process that is started again ends the study.

    So it does where the directory was moved meanwhile.
    """
    out = tmp_path / "run"
    moved = tmp_path / "moved"
    killed_at("output after 3", lambda: run(out, shard="2/2"))
    before = measured(out)
    assert before
    out.rename(moved)
    assert run(moved, shard="1/2")
    assert tables(moved) == tables(finished)
    assert measured(moved).items() > before.items()
    assert not out.exists()


def test_half_figures_do_not_stay(out):
    inline = RunOptions(out=out, executor="inline", learners="finetune")
    killed_at("depth.png", lambda: run_study(str(TINY), inline))
    assert list(out.glob("figures/*.tmp"))
    assert run_study(str(TINY), inline)
    assert not list(out.rglob("*.tmp"))
