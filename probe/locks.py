"""Locks of folders: each is held by one process at a time and released by the kernel when it dies.

The lock of a job keeps two processes from doing the same job. The lock of a run
directory is held while tables are written, the lock of a recording by its recorder.
Each is a `filelock.FileLock`, a lock of the kernel on an open file, so there is nothing
to clean up after a killed process. The presence of the file means nothing; for a
finished job it is removed.

On storage without working locks, jobs may be done twice; the results are still right.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path

from filelock import FileLock, Timeout

from probe.files import not_written, sweep

LOCK = "lock"
"""The name of the file in a folder that is locked."""

# Looking at a lock holds it for less than a millisecond: a lock that is soon free was
# not held.
_MOMENT = 0.05  # seconds
_POLL = 0.005


class Locked(Exception):
    """A lock that another process holds."""


@contextmanager
def lock(folder: Path, *, wait: bool = False, process: bool = False) -> Iterator[None]:
    """Hold a folder's lock within the block, after removing unfinished files of killed processes.

    Args:
        folder: The folder, which must exist.
        wait: Whether to wait for another process as long as it takes; otherwise Locked
            is raised.
        process: Whether all holders in this process share the lock.

    Raises:
        Locked: Another process holds the lock.
        NotWritten: The folder is gone, or cannot be written to.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as name, lock(Path(name)):
        ...     is_locked(Path(name))
        True
    """
    # A lock would create it again, empty, after a run directory was moved away.
    if not folder.is_dir():
        raise not_written(folder / LOCK, FileNotFoundError(ENOENT, os.strerror(ENOENT)))
    file_lock = FileLock(folder / LOCK, thread_local=not process, is_singleton=process)
    try:
        file_lock.acquire(timeout=-1 if wait else _MOMENT, poll_interval=_POLL)
        sweep(folder)
    except Timeout:
        raise Locked(f"{folder} is locked by another process") from None
    except OSError as error:
        raise not_written(folder / LOCK, error) from None
    try:
        yield
    finally:
        file_lock.release()


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder; changes nothing there.

    Returns False to a process that may not write there.
    """
    if not (folder / LOCK).exists():
        return False
    try:
        with FileLock(folder / LOCK).acquire(timeout=_MOMENT, poll_interval=_POLL):
            return False
    except OSError as error:
        return isinstance(error, Timeout)
