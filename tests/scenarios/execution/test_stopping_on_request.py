"""SIGTERM and Ctrl-C at any moment: gone within 5 s, one line, no child, and the same tables."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from probe.tables.run_directory import TABLES
from scenarios.commands.run import Options, run_study
from scenarios.commands.stopping import HOW_TO_GO_ON
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides
from tests.scenarios.execution.forked import until

STUDY = Overrides(learners=["er", "offline"], seeds=1, orders="shuffle:2", epochs=2, train_limit=8)
FLAGS = ["--learners", "er,offline", "--seeds", "1", "--orders", "shuffle:2", "--epochs", "2"]
FLAGS += ["--train-limit", "8"]
BOUND = 5.0

# What is sent, to whom, and the exit code.
TERM = (signal.SIGTERM, os.kill, 143)  # a person, or a service that ends
CTRL_C = (signal.SIGINT, os.killpg, 130)  # a terminal
SLURM = (signal.SIGTERM, os.killpg, 143)
INT = (signal.SIGINT, os.kill, 130)


def started(out: Path, executor: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "scenarios", "run", "digits", "--out", str(out), *FLAGS]
    command += ["--executor", executor, "--workers", "1" if executor == "inline" else "2"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def run(out: Path) -> None:
    """Run the same in this process, without figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.commands.run.build", lambda root: [])
        assert run_study("digits", STUDY, Options(out=out, choice=Choice(executor="inline")))


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


def group(number: int) -> list[str]:
    """Return the processes of a group that run, each by its command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == number and fields[0] not in "ZX":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def handles_signals(process: int) -> bool:
    """Whether Python code of the process handles SIGTERM."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [caught] = [line.split()[1] for line in lines if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def stop(
    process: subprocess.Popen[str], how: tuple[int, Callable[[int, int], None], int], times: int = 1
) -> None:
    """Ask to stop, and check all that is promised."""
    number, send, code = how
    start = time.monotonic()
    for _ in range(times):
        send(process.pid, number)
        time.sleep(0.05)
    _, said = process.communicate(timeout=60)
    until(lambda: not group(process.pid), start + BOUND - time.monotonic())
    assert (process.returncode, said) == (code, f"{HOW_TO_GO_ON}\n"), (process.returncode, said)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "run"
    run(out)
    return tables(out)


@pytest.mark.parametrize(
    ("executor", "how", "moment"),
    [
        ("inline", TERM, "imports"),
        ("inline", CTRL_C, "jobs/er.order-0.seed-0/step-1.json"),
        ("pool", SLURM, "jobs/*/step-1.json"),
        ("pool", CTRL_C, "locks"),
    ],
)
def test_at_a_moment(
    tmp_path: Path,
    undisturbed: dict[str, bytes],
    executor: str,
    how: tuple[int, Callable[[int, int], None], int],
    moment: str,
) -> None:
    out = tmp_path / "run"
    with started(out, executor) as process:
        while not handles_signals(process.pid):
            time.sleep(0.005)
        if moment == "imports":
            time.sleep(0.4)
            assert not out.exists()
        else:
            while not list(out.glob(moment)):
                time.sleep(0.005)
        assert process.poll() is None
        stop(process, how)
    assert not (out / "rows.csv").exists()
    run(out)
    assert tables(out) == undisturbed
    assert not list(out.rglob("*.tmp"))
    assert not (out / "quarantine").exists()


def keep_stopping(out: Path, seed: int, stops: int) -> int:
    """Start and stop at random moments, as often; return how many came to the end before."""
    chance, ends = random.Random(seed), 0
    for _ in range(stops):
        executor = chance.choice(["inline", "pool"])
        with started(out, executor) as process:
            while not handles_signals(process.pid):
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 6 if executor == "inline" else 9))
            if process.poll() is None and not (out / "rows.csv").exists():
                how = chance.choice([TERM, CTRL_C, SLURM, INT])
                stop(process, how, times=chance.choice([1, 1, 2]))
            else:
                process.communicate()
                ends += 1
    return ends


@pytest.mark.parametrize("seed", [4])
def test_at_random_moments(tmp_path: Path, undisturbed: dict[str, bytes], seed: int) -> None:
    """`keep_stopping` with more seeds and stops is a soak test."""
    out = tmp_path / "run"
    keep_stopping(out, seed, stops=2)
    run(out)
    assert tables(out) == undisturbed
    assert not (out / "quarantine").exists()
