"""What cannot be trusted is set aside, never removed: a run directory's `quarantine/`."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from probe.errors import NotWritten
from probe.files import make_folder


def set_aside(root: Path, path: Path, reason: str) -> None:
    """Move a file or folder of the run directory out of the way and say so in `notes.txt`.

    What was set aside earlier stays beside it. Raises NotWritten if that cannot be done.
    """
    folder = root / _FOLDER
    make_folder(folder)
    name = ".".join(path.relative_to(root).parts).removeprefix("jobs.")
    names = (name if k == 1 else f"{name}.{k}" for k in count(1))
    target = next(free for free in names if not os.path.lexists(folder / free))
    note = f"{path}: {reason}; set aside as {_FOLDER}/{target}, computed anew"
    try:
        if os.path.lexists(path):
            os.replace(path, folder / target)
        with (folder / _NOTES).open("a", encoding="utf-8") as file:
            file.write(note + "\n")
    except OSError as error:
        raise NotWritten(
            f"cannot set {path} aside ({error.strerror}), which cannot be trusted as {reason}: "
            f"make room or allow writing, and run the same command again"
        ) from None


def notes(root: Path) -> list[str]:
    """Return what was set aside in a run directory, and why, one sentence each."""
    path = root / _FOLDER / _NOTES
    return path.read_text("utf-8", "replace").splitlines() if path.exists() else []


_FOLDER, _NOTES = "quarantine", "notes.txt"
