"""Files to be read that others have made: no pipe keeps us waiting, no device goes on for ever."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path


@contextmanager
def regular_file(path: Path) -> Iterator[BufferedReader]:
    """Open a file, or what a link points to, to read within the block; raises OSError for others.

    Others are folders, pipes, sockets and devices.
    """
    # Where there is such a flag: opening a pipe does not wait for its writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with open(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)
