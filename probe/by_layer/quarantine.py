"""Corrupt files: set aside, each with a note, and never read again."""

import os
from itertools import count
from pathlib import Path

from probe.errors import NotWritten

QUARANTINE = "quarantine"
"""The folder of a run directory for corrupt files."""

_NOTE = ".txt"


def set_aside(root: Path, path: Path, reason: str) -> None:
    """Move a corrupt file, if it is still there, to the quarantine.

    Args:
        root: The run directory.
        path: The file.
        reason: The reason, for the note.

    Raises:
        NotWritten: The file cannot be moved.
    """
    folder = root / QUARANTINE
    relative = path.relative_to(root)
    name = ".".join(relative.parts).removeprefix("jobs.")[-200:]
    try:
        folder.mkdir(exist_ok=True)
        targets = (folder / (name if k == 1 else f"{name}.{k}") for k in count(1))
        target = next(target for target in targets if not target.exists())
        os.replace(path, target)
        note = (
            f"{relative}: {reason}; set aside as {QUARANTINE}/{target.name}, computed "
            "again\n"
        )
        target.with_name(target.name + _NOTE).write_text(note, encoding="utf-8")
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotWritten(
            f"cannot move {path} ({error.strerror}): make room there"
        ) from None


def quarantine_notes(root: Path) -> list[str]:
    """Return a sentence for each file set aside in a run directory, with the reason, sorted."""
    notes = sorted((root / QUARANTINE).glob(f"*{_NOTE}"))
    return [
        line
        for path in notes
        for line in path.read_text("utf-8", "replace").splitlines()
    ]
