"""Locks of folders: one process at a time, given back by the kernel when their holder dies.

A job's lock keeps two processes from doing the same job; the run directory's own lock is held for
the moment in which tables are written. Both are a `filelock.FileLock`: a lock of the kernel on an
open file. So there is nothing to clean up after a process that was killed, no clock to compare and
no process to ask about. The file itself stays and means nothing.

On storage where locks do not work, work may be done twice, and no result is wrong for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path

from filelock import FileLock, Timeout

from probe.errors import NotWritten
from probe.files import not_written

_NAME = "lock"

# Whoever looks at a lock takes it for less than a millisecond: one that is free after a moment was
# not held.
_MOMENT = 0.05  # seconds
_POLL = 0.005


class Locked(Exception):
    """Another process holds the lock."""


@contextmanager
def lock(folder: Path, wait: bool = False) -> Iterator[None]:
    """Hold a folder's lock, the file `lock` in it, within the block; the folder must exist.

    Locks only save work: every file is replaced atomically, and two processes that do the same job
    write the same bytes. wait: wait for a lock that another process holds, as long as it takes;
    else raises Locked. Raises NotWritten if the folder is gone or cannot be written to.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name, lock(Path(name)):
    ...     is_locked(Path(name))
    True
    """
    # A lock would make it anew: with nothing in it, where a run directory was moved away.
    if not folder.is_dir():
        raise not_written(folder / _NAME, FileNotFoundError(ENOENT, os.strerror(ENOENT)))
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
    # Only to look must leave no file behind.
    if not (folder / _NAME).exists():
        return False
    try:
        with lock(folder):
            return False
    except Locked:
        return True
    except NotWritten:
        return False
