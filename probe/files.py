"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from probe.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; after the block it takes the place of `path`.

    A failure, or the end of the process, leaves `path` as it was. Raises InputError if it cannot
    be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({error.strerror}): make room or choose another --out; what was "
            f"finished is kept, and the same command goes on from there"
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what processes that were killed have left half written in a folder and below it."""
    for left in folder.rglob("*.tmp"):
        match = re.fullmatch(r".+\.(?:json|pt|csv|png|svg|bin)\.(\d+)\.tmp", left.name)
        if match and left.is_file() and not _alive(int(match[1])):
            left.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; raises InputError if that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {folder} ({error.strerror}): choose another --out"
        ) from None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
