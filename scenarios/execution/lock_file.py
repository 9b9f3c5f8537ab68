"""The file of a lock: made by who takes it, read by everybody, removed in the end."""

from __future__ import annotations

import json
import os
import platform
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from probe.files import discard, suffix
from probe.processes import birth, machine, runs
from probe.regular import regular_file


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock as it was seen. holder: for messages; beat: changes whenever the holder renews it."""

    name: str
    number: int
    holder: str
    beat: int
    dead: bool


def make(path: Path) -> bool:
    """Make a file that names this process, whole; False if there is something of that name."""
    # One that was killed here must not leave a lock that nobody knows the holder of. The name is
    # one that `probe.files.sweep` knows, and no other thread's.
    whole = path.with_name(f"{path.name}.{threading.get_ident()}.json{suffix()}")
    try:
        # What lies there, a link perhaps, is not written through.
        whole.unlink(missing_ok=True)
        with whole.open("xb") as file:
            file.write(_own())
        os.link(whole, path)
    except FileExistsError:
        # On a network's file system the answer to the first attempt may have been lost.
        return whole.stat().st_nlink == 2
    except OSError:
        # Not every file system has links; and what else it was is said here.
        return _made(path)
    finally:
        discard(whole)
    return True


def is_own(path: Path) -> bool:
    """Whether the file names this process."""
    try:
        return _content(path) == _own()
    except OSError:
        return False


def give_back(path: Path) -> None:
    """Remove the file, if it is this process's own."""
    if is_own(path):
        discard(path)


def read(path: Path, lock: Lock) -> Lock | None:
    """Return the lock with what its file shows; None if it is gone, or no file."""
    try:
        # Read before its time is: on a network's file system that is what asks for news.
        content = _content(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError:
        content = b""
    return replace(_said(content, lock), beat=_beat(path))


def unknown(name: str, number: int) -> Lock:
    """Return a lock of which nothing is known."""
    return Lock(name=name, number=number, holder="another process", beat=0, dead=False)


def _made(path: Path) -> bool:
    try:
        file = path.open("xb", buffering=0)
    except FileExistsError:
        return False
    with file:
        try:
            file.write(_own())
        except OSError:
            discard(path)
            raise
    return True


def _content(path: Path) -> bytes:
    with regular_file(path, links=False) as file:
        return file.read(1000)


def _beat(path: Path) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _own() -> bytes:
    process = os.getpid()
    said = {"host": platform.node(), "machine": machine(), "process": process}
    return json.dumps({**said, "birth": birth(process)}).encode()


def _said(content: bytes, lock: Lock) -> Lock:
    try:
        said = json.loads(content)
        host, process, mark = str(said["host"]), int(said["process"]), str(said["birth"])
        dead = said["machine"] == machine() and not runs(process, mark)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        # Being written, or spoiled: nothing is known of its holder but whether it renews it.
        return lock
    return replace(lock, holder=f"process {process} on {host}", dead=dead)
