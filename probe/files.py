"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from probe.errors import NotWritten
from probe.processes import birth, machine


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; after the block it takes the place of `path`.

    A failure, or the end of the process, leaves `path` as it was. Raises NotWritten if it cannot
    be written.
    """
    partial = path.with_name(path.name + suffix())
    try:
        # What lies there, a link perhaps, is not written through.
        partial.unlink(missing_ok=True)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise NotWritten(
            f"cannot write {path} ({error.strerror}): make room or choose another --out; what was "
            f"finished is kept, and the same command goes on from there"
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def create(path: Path, content: bytes) -> bool:
    """Write a file that is not there yet, whole; False if another process was first.

    Raises NotWritten if it cannot be written.
    """
    partial = path.with_name(path.name + suffix())
    try:
        partial.write_bytes(content)
        os.link(partial, path)
    except FileExistsError:
        return False
    except OSError:
        # Not every file system has links; and what else it was is said here.
        with replacing(path) as partial:
            partial.write_bytes(content)
    finally:
        discard(partial)
    return True


def suffix() -> str:
    """Return the end of the name of a file that this process has not finished."""
    return f".{machine()}-{os.getpid()}.tmp"


def sweep(folder: Path) -> None:
    """Remove what processes of this machine that were killed left half written in a folder."""
    for left in folder.glob("*.tmp"):
        match = _UNFINISHED.fullmatch(left.name)
        if match and match[1] == machine() and birth(int(match[2])) is None:
            discard(left)


def sweep_all(folder: Path) -> None:
    """Remove what anybody has left half written in a folder that nobody else writes to."""
    for left in folder.glob("*.tmp"):
        if _UNFINISHED.fullmatch(left.name):
            discard(left)


def discard(path: Path) -> None:
    """Remove a file that another process may remove, too."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; raises NotWritten if that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(
            f"cannot write to {folder} ({error.strerror}): choose another --out"
        ) from None


_UNFINISHED = re.compile(r".+\.(?:json|pt|csv|png|svg|bin|npz)\.([0-9a-f]{8})-(\d{1,10})\.tmp")
