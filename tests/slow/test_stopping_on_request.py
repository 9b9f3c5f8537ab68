"""SIGTERM and Ctrl-C at any moment: gone, with one line, and the same tables later."""

import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import locked, run, tables
from tests.slow.helpers import JOB, POOL, command

pytestmark = pytest.mark.slow

INLINE = ("--executor", "inline")

# The signal and its receiver.
TERM = (signal.SIGTERM, os.kill)  # a person, or a service that ends
CTRL_C = (signal.SIGINT, os.killpg)  # a terminal
SLURM = (signal.SIGTERM, os.killpg)


@pytest.mark.parametrize(
    ("flags", "how", "moment"),
    [
        (INLINE, TERM, "imports"),
        (POOL, SLURM, "jobs/*/*/predictions.*.npz"),
        pytest.param(
            POOL, CTRL_C, "study.json", marks=pytest.mark.soak
        ),  # while the workers start
        pytest.param(INLINE, TERM, "figures", marks=pytest.mark.soak),
    ],
)
def test_at_a_moment(tmp_path, finished, flags, how, moment):
    out = tmp_path / "run"
    # The study cannot end before it is stopped: one job is locked.
    last = locked(out / "jobs" / JOB)
    if moment == "figures":
        last = nullcontext()
    with last, command(out, *flags) as started:
        maps = Path(f"/proc/{started.process.pid}/maps")
        if moment == "imports":
            started.reaches(lambda: "libtorch" in maps.read_text())
        else:
            started.reaches(lambda: list(out.glob(moment)))
        started.stops(*how)
    assert (out / "measurements.csv").exists() == (moment == "figures")
    assert run(out)
    assert tables(out) == tables(finished)
    assert not list(out.rglob("*.tmp"))
    assert not (out / "quarantine").exists()
