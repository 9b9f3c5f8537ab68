"""Processes that run one small study, some forked from this one, which has torch imported."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from scenarios.options import RunOptions
from tests.scenarios.execution.helpers import run, workers_of


@dataclass
class Driver:
    """A process that runs the study, the leader of its own group; code: as of `subprocess`."""

    process: int
    code: int | None = None

    def ended(self) -> bool:
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if process else None
        return self.code is not None

    def wait(self) -> int:
        while not self.ended():
            time.sleep(0.005)
        return self.code or 0

    def kill(self, group: bool = False) -> bool:
        """Kill -9 it, or its group; return whether it had not ended before."""
        if self.ended():
            return False
        (os.killpg if group else os.kill)(self.process, signal.SIGKILL)
        return self.wait() == -signal.SIGKILL

    def workers(self) -> list[int]:
        """Return the processes of its pool."""
        return sorted(workers_of(self.process))


def warm(study: Path, options: RunOptions) -> Driver:
    """Start the study in a fork of this process, without its figures."""
    process = os.fork()
    if process == 0:
        code = 70
        try:
            _set_up(study)
            code = 0 if run(study=study, **vars(options)) else 1
        finally:
            sys.stdout.flush()
            os._exit(code)
    return Driver(process)


def real(study: Path, options: RunOptions) -> Driver:
    """Start the command line."""
    given = {name: value for name, value in asdict(options).items() if value not in (None, False)}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    process = os.fork()
    if process == 0:
        try:
            _set_up(study)
            os.execv(sys.executable, [sys.executable, "-m", "scenarios", "run", str(study), *words])
        finally:
            os._exit(70)
    return Driver(process)


def _set_up(study: Path) -> None:
    """Make a fork the leader of a group; what it says is kept beside the study."""
    os.setsid()
    log = os.open(study.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
