"""What cannot be trusted is set aside, never removed: a run directory's `quarantine/`."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from probe.errors import NotWritten
from probe.files import discard, make_within
from probe.regular import regular_file


def set_aside(root: Path, path: Path, reason: str) -> None:
    """Move a file or folder of the run directory out of the way, with a note beside it.

    What was set aside earlier stays; what is not there any more needs nothing. Raises NotWritten if
    it cannot be done.
    """
    if not os.path.lexists(path):
        return
    folder = root / FOLDER
    make_within(root, folder)
    own = path.relative_to(root)
    # With what is added below it stays shorter than the 255 characters of a file's name.
    name = ".".join(own.parts).removeprefix("jobs.")[-200:]
    try:
        for k in count(1):
            target = folder / (name if k == 1 else f"{name}.{k}")
            note = f"{own}: {reason}; set aside as {FOLDER}/{target.name}, computed anew\n"
            if not os.path.lexists(target) and _moved(path, target, note):
                return
    except OSError as error:
        raise NotWritten(
            f"cannot set {path} aside ({error.strerror}), which cannot be trusted as {reason}: "
            f"make room or allow writing, and run the same command again"
        ) from None


def notes(root: Path) -> list[str]:
    """Return what was set aside in a run directory, and why, one sentence each."""
    return [line for path in sorted((root / FOLDER).glob(f"*{_NOTE}")) for line in _lines(path)]


FOLDER = "quarantine"
_NOTE = ".txt"
_LONGEST = 10_000  # bytes of a note


def _moved(path: Path, target: Path, note: str) -> bool:
    """Move a file unless another process takes the same name; whose the note is may have it."""
    beside = target.with_name(target.name + _NOTE)
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(note)
    except FileExistsError:
        return False
    except OSError:
        discard(beside)
        raise
    try:
        os.rename(path, target)
    except FileNotFoundError:
        # Another process has set it aside.
        discard(beside)
    except OSError:
        discard(beside)
        raise
    return True


def _lines(path: Path) -> list[str]:
    try:
        with regular_file(path, links=False) as file:
            return file.read(_LONGEST).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
