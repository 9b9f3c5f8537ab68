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

    A failure, or the end of the process, leaves `path` as it was; so does it every other name that
    the file has, as nothing is written in place. Raises NotWritten if it cannot be written.
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
        raise not_written(path, error) from None
    finally:
        discard(partial)


def create(path: Path, content: bytes) -> bool:
    """Write a file that is not there yet, whole; False if another process was first.

    Raises NotWritten if it cannot be written.
    """
    partial = path.with_name(path.name + suffix())
    try:
        partial.unlink(missing_ok=True)
        with partial.open("xb") as file:
            file.write(content)
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


def sweep_all(folder: Path, names: str = "*") -> None:
    """Remove what anybody has left half written of files that nobody else writes now."""
    for left in folder.glob(f"{names}.*.tmp"):
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


def make_within(root: Path, folder: Path) -> None:
    """Make a folder somewhere in `root`, and those between them, but not `root` itself.

    Raises NotWritten if that cannot be done, also as `root` was moved away, and if one of them is a
    link.
    """
    at = root
    for name in folder.relative_to(root).parts:
        at = at / name
        try:
            at.mkdir(exist_ok=True)
        except OSError as error:
            raise not_written(at, error) from None
        refuse_link(at)


def refuse_link(folder: Path) -> None:
    """Raise NotWritten if what is written into a folder would land in another place."""
    if folder.is_symlink():
        raise NotWritten(
            f"{folder} is a link, and what it points to may be anything: put a folder in its place"
        )


def not_written(path: Path, error: OSError) -> NotWritten:
    """Return the error for a file or folder that cannot be written."""
    if isinstance(error, FileNotFoundError):
        remedy = "was its folder moved or removed? Name the place where it is now"
    else:
        remedy = "make room there, allow writing, or choose another place"
    reason = error.strerror or error
    return NotWritten(
        f"cannot write {path} ({reason}): {remedy}, and run the same command again; nothing that "
        f"was finished is lost"
    )


_UNFINISHED = re.compile(r".+\.(?:json|pt|csv|png|svg|bin|npz)\.([0-9a-f]{8})-(\d{1,10})\.tmp")
