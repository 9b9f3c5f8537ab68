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
def regular_file(path: Path, links: bool = True) -> Iterator[BufferedReader]:
    """Open a file to read within the block; raises OSError for folders, pipes, sockets, devices.

    links: whether a link is followed, which otherwise is an error as well.
    """
    # Where there are such flags: opening a pipe does not wait for its writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
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
