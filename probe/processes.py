"""Which processes can be seen from here, and whether one of them is still the one that it was."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


@cache
def machine() -> str:
    """Return a name, 8 characters, of all processes that can be seen from this one.

    Two processes have it in common if they run under the same boot of one system and, on Linux, in
    the same namespace of processes: containers on one host do not see each other's.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        space = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        boot, space = platform.node(), ""
    return hashlib.sha256(f"{boot} {space}".encode()).hexdigest()[:8]


def birth(process: int) -> str | None:
    """Return a mark of when a process of this machine started; None if there is none that runs.

    A number is given to another process in time, but not with the same mark. Where the system does
    not tell, as of other users' processes on some, the mark is empty.

    >>> birth(os.getpid()) == birth(os.getpid())
    True
    """
    if not 0 < process < 2**31:
        return None
    try:
        # The second field, a name in brackets, can hold anything.
        fields = (_PROC / str(process) / "stat").read_text("utf-8", "replace").rpartition(")")[2]
    except OSError:
        return "" if _answers(process) else None
    state, *others = fields.split()
    # One that has ended but was not waited for yet has files open no more.
    return None if state in "ZX" else others[18]


def runs(process: int, mark: str) -> bool:
    """Whether a process of this machine still runs that had that mark.

    >>> runs(os.getpid(), birth(os.getpid())), runs(os.getpid(), "another")
    (True, False)
    """
    now = birth(process)
    return now is not None and (now == mark or not now or not mark)


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
