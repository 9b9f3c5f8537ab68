"""Children that are forked, and so start at once, and locks that were written by hand."""

from __future__ import annotations

import errno
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from probe.processes import birth, machine
from scenarios.execution.claims import Claims, Held

LEASE = 0.4


def fork(action: Callable[[], int | None], quiet: bool = True) -> int:
    """Run in a child; its exit code is what the action returns, 99 if it raises."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        if quiet:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = action() or 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(process: int) -> int:
    """Wait for a child; the code is negative if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def child(action: Callable[[], int | None]) -> Iterator[int]:
    """Run in a child, which is killed at the end of the block if it still runs."""
    process = fork(action)
    try:
        yield process
    finally:
        with suppress(ChildProcessError, ProcessLookupError):
            os.kill(process, 9)
            os.waitpid(process, 0)


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def a_dead_process() -> int:
    """Return the number of a process that ran a moment ago."""
    process = fork(lambda: 0)
    exit_code(process)
    return process


def lock_of(
    folder: Path, name: str, process: int, mark: str = "1", where: str | None = None
) -> Path:
    """Write a lock as that process would; where: its machine, this one by default."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.1.lock"
    here = {"host": "there", "machine": where or machine(), "process": process}
    path.write_text(json.dumps({**here, "birth": mark}))
    return path


def own_mark() -> str:
    mark = birth(os.getpid())
    assert mark
    return mark


def is_free(claims: Claims, name: str = "it") -> bool:
    try:
        with claims.held(name):
            return True
    except Held:
        return False


def no_links(source: Path, target: Path) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted", str(target))
