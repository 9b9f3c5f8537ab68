"""Locks of folders: held by one process at a time, released by the kernel when it dies.

The lock of a job keeps two processes from doing the same job; the lock of the run directory is held
while tables are written. Both are a `filelock.FileLock`, a lock of the kernel on an open file, so
there is nothing to clean up after a killed process. The file itself stays and has no meaning.

On storage without working locks, jobs may be done twice; the results are still right.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path

from filelock import FileLock, Timeout

from probe.errors import NotWritten
from probe.files import not_written

_NAME = "lock"

# Looking at a lock holds it for less than a millisecond: a lock that is soon free was not held.
_MOMENT = 0.05  # seconds
_POLL = 0.005


class Locked(Exception):
    """Another process holds the lock."""


@contextmanager
def lock(folder: Path, wait: bool = False) -> Iterator[None]:
    """Hold a folder's lock, the file `lock` in it, within the block; the folder must exist.

    Args:
        folder: The folder.
        wait: Wait for another process as long as it takes.

    Raises:
        Locked: Another process holds it, without `wait`.
        NotWritten: The folder is gone or cannot be written to.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as name, lock(Path(name)):
        ...     is_locked(Path(name))
        True
    """
    # A lock would create it again, empty, after a run directory was moved away.
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
    """Return whether a process holds the lock of a folder; creates nothing.

    Returns False to a process that may not write there.
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
