"""Locks of folders: one process at a time, given back by the kernel when their holder dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from probe.errors import NotWritten
from probe.files import make_folder, not_written

_NAME = "lock"

# Whoever looks at a lock takes it for less than a millisecond: one that is free after a moment was
# not held.
_MOMENT = 0.05  # seconds
_POLL = 0.005


class Locked(Exception):
    """Another process holds the lock."""


@contextmanager
def lock(folder: Path, wait: bool = False) -> Iterator[None]:
    """Hold a folder's lock, the file `lock` in it, within the block.

    Locks only save work: every file is replaced atomically, and two processes that do the same job
    write the same bytes. wait: wait for a lock that another process holds, as long as it takes;
    else raises Locked. Raises NotWritten if the folder cannot be written to.
    """
    make_folder(folder)
    held = FileLock(folder / _NAME)
    try:
        held.acquire(timeout=-1 if wait else _MOMENT, poll_interval=_POLL)
    except Timeout:
        raise Locked(f"{folder} is locked by another process") from None
    except OSError as error:
        raise not_written(folder / _NAME, error) from None
    try:
        yield
    finally:
        held.release()


def is_locked(folder: Path) -> bool:
    """Whether a process holds the folder's lock; makes nothing.

    No process that may not write there can tell: for it no lock is held.
    """
    if not (folder / _NAME).exists():
        return False
    try:
        with lock(folder):
            return False
    except Locked:
        return True
    except NotWritten:
        return False
