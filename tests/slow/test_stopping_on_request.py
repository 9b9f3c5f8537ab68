"""SIGTERM and Ctrl-C at any moment: gone in seconds, one line, no child, and the same tables."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.commands.stopping import HOW_TO_GO_ON
from tests.scenarios.execution.helpers import run, tables
from tests.slow.helpers import SOON, Command, command, handles_signals

pytestmark = pytest.mark.slow

Stop = tuple[int, Callable[[int, int], None], int]

# What is sent, to whom, and the exit code.
TERM: Stop = (signal.SIGTERM, os.kill, 143)  # a person, or a service that ends
CTRL_C: Stop = (signal.SIGINT, os.killpg, 130)  # a terminal
SLURM: Stop = (signal.SIGTERM, os.killpg, 143)
INT: Stop = (signal.SIGINT, os.kill, 130)
INLINE, POOL = ["--executor", "inline"], ["--executor", "pool", "--workers", "2"]


def stop(started: Command, how: Stop, times: int = 1) -> None:
    """Ask to stop, and check all that is promised."""
    number, send, code = how
    start = time.monotonic()
    for _ in range(times):
        send(started.process.pid, number)
        time.sleep(0.05)
    _, said = started.process.communicate(timeout=60)
    assert (started.process.returncode, said) == (code, f"{HOW_TO_GO_ON}\n")
    started.is_gone_within(start + SOON - time.monotonic())


@pytest.mark.parametrize(
    ("flags", "how", "moment"),
    [
        (INLINE, TERM, "imports"),
        (INLINE, CTRL_C, "jobs/*/*/step-1.json"),
        (POOL, SLURM, "jobs/*/*/step-1.json"),
        (POOL, CTRL_C, "study.json"),  # while the workers start
        (POOL, TERM, "figures"),
    ],
)
def test_at_a_moment(
    tmp_path: Path, finished: Path, flags: list[str], how: Stop, moment: str
) -> None:
    out = tmp_path / "run"
    with command(out, *flags) as started:
        started.reaches(lambda: handles_signals(started.process.pid))
        if moment == "imports":
            time.sleep(0.4)
            assert not out.exists()
        else:
            started.reaches(lambda: list(out.glob(moment)))
        stop(started, how)
    assert (out / "rows.csv").exists() == (moment == "figures")
    assert run(out)
    assert tables(out) == tables(finished)
    assert not list(out.rglob("*.tmp"))
    assert not (out / "quarantine").exists()


def test_at_random_moments(tmp_path: Path, finished: Path) -> None:
    out, chance = tmp_path / "run", random.Random(4)
    for _ in range(3):
        flags = chance.choice([INLINE, POOL])
        with command(out, *flags) as started:
            started.reaches(lambda started=started: handles_signals(started.process.pid))  # type: ignore[misc]
            time.sleep(chance.uniform(0, 6 if flags is INLINE else 9))
            if started.process.poll() is None and not (out / "rows.csv").exists():
                how = chance.choice([TERM, CTRL_C, SLURM, INT])
                stop(started, how, times=chance.choice([1, 1, 2]))
    assert run(out)
    assert tables(out) == tables(finished)
    assert not (out / "quarantine").exists()
