"""`probe run` as it is typed, kills, and small disks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import TINY, alive, exit_code, fork, until

JOB = "er.order-there.seed-0"
SOON = 15.0  # seconds: five are promised, on a machine that has nothing else to do


@dataclass
class Command:
    """`probe run` in a process of its own, which it and all that it starts can be told by."""

    process: subprocess.Popen[str]
    mark: bytes

    def reaches(self, condition: Callable[[], object]) -> None:
        """Wait until something is so while it runs."""
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.005)

    def family(self) -> list[int]:
        """Return the processes that run and were started by it, itself included."""
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if self._marked(path)]

    def _marked(self, path: Path) -> bool:
        with suppress(OSError):
            return self.mark in (path / "environ").read_bytes() and alive(int(path.name))
        return False

    def is_gone_within(self, seconds: float) -> None:
        """Wait until it and all that it has started are gone."""
        until(lambda: self.process.poll() is not None and not self.family(), seconds)


@contextmanager
def command(out: Path, *flags: str, study: str = str(TINY)) -> Iterator[Command]:
    """Run a study within the block; nothing of it is left after it."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "scenarios", "run", study, "--out", str(out), *flags],
        env={**os.environ, "STARTED_BY": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    started = Command(process, f"STARTED_BY={mark}".encode())
    with process:
        try:
            yield started
        finally:
            for left in started.family():
                with suppress(OSError):
                    os.kill(left, signal.SIGKILL)


def holders(root: Path) -> list[int]:
    """Return the processes that have the lock of a job open."""
    locks, found = {str(path) for path in root.glob("jobs/*/lock")}, []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(os.readlink(file) in locks for file in (path / "fd").iterdir()):
                found.append(int(path.name))
    return found


def handles_signals(process: int) -> bool:
    """Whether Python code of the process handles SIGTERM."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [caught] = [line.split()[1] for line in lines if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def killed_at(name: str, action: Callable[[], object], signal_sent: int = signal.SIGKILL) -> int:
    """Start a child that does something, and is sent a signal as it replaces a file of that name.

    Return the child, which may be stopped by then.
    """

    def act() -> object:
        replace = os.replace

        def deadly(source: Path, target: Path) -> None:
            if Path(target).name == name:
                os.replace = replace
                os.kill(os.getpid(), signal_sent)
            replace(source, target)

        os.replace = deadly  # type: ignore[assignment]
        return action()

    return fork(act)


def killed_run(name: str, action: Callable[[], object]) -> None:
    """Do something in a child that is killed -9 as it replaces a file of that name."""
    assert exit_code(killed_at(name, action)) == -signal.SIGKILL


@contextmanager
def killer(chosen: Sequence[Callable[[], int | None]]) -> Iterator[list[int]]:
    """Kill -9 within the block what each of `chosen` returns, as soon as it returns a process.

    After the block all of them must have been killed: a test without its kill tests nothing.
    """
    kills: list[int] = []
    done = threading.Event()

    def work() -> None:
        left = list(chosen)
        while left and not done.wait(0.001):
            for choose in list(left):
                process = choose()
                if process is not None:
                    left.remove(choose)
                    os.kill(process, signal.SIGKILL)
                    kills.append(process)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield kills
    finally:
        done.set()
        thread.join()
    assert len(kills) == len(chosen)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def copied(source: Path, target: Path) -> Path:
    """Return a copy of a run directory in which nobody is surprised by a change."""
    return Path(shutil.copytree(source, target))


@contextmanager
def tmpfs(folder: Path, options: str) -> Iterator[Callable[[str], None]]:
    """Mount a small disk at a folder within the block; yields what mounts it anew with others."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a disk")

    def again(changed: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{changed}", str(folder)], check=True)

    try:
        yield again
    finally:
        subprocess.run(["umount", str(folder)], check=True)
