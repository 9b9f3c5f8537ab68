"""SIGTERM and Ctrl-C at any moment: gone in a few seconds, one line, and the same tables."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import handles_signals, run, tables
from tests.slow.helpers import POOL, command

pytestmark = pytest.mark.slow

INLINE = ("--executor", "inline")

# What is sent, and to whom.
TERM = (signal.SIGTERM, os.kill)  # a person, or a service that ends
CTRL_C = (signal.SIGINT, os.killpg)  # a terminal
SLURM = (signal.SIGTERM, os.killpg)


@pytest.mark.parametrize(
    ("flags", "how", "moment"),
    [
        (INLINE, TERM, ""),
        (INLINE, CTRL_C, "jobs/*/*/step-1.json"),
        (POOL, SLURM, "jobs/*/*/step-1.json"),
        (POOL, CTRL_C, "study.json"),  # while the workers start
        (POOL, TERM, "figures"),
    ],
)
def test_at_a_moment(
    tmp_path: Path,
    finished: Path,
    flags: tuple[str, ...],
    how: tuple[int, Callable[[int, int], None]],
    moment: str,
) -> None:
    out = tmp_path / "run"
    with command(out, *flags) as started:
        if moment:
            started.reaches(lambda: list(out.glob(moment)))
        else:
            # It imports what is heavy.
            started.reaches(lambda: handles_signals(started.process.pid))
            time.sleep(0.3)
        started.stops(*how)
    assert (out / "rows.csv").exists() == (moment == "figures")
    assert run(out)
    assert tables(out) == tables(finished)
    assert not list(out.rglob("*.tmp"))
    assert not (out / "quarantine").exists()
