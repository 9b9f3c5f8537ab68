"""Which files are opened, and which folders are looked into."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOOKS = {"open", "os.listdir", "os.scandir"}
_WATCHED: list[tuple[Path, set[Path]]] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _WATCHED and event in _LOOKS and isinstance(arguments[0], str | bytes | os.PathLike):
        folder, seen = _WATCHED[-1]
        path = Path(os.path.abspath(os.fsdecode(arguments[0])))
        if path.is_relative_to(folder):
            seen.add(path)


# There is no way to take it away again: it only sees within a block.
sys.addaudithook(_watch)


@contextmanager
def opened_below(folder: Path) -> Iterator[set[Path]]:
    """Yield every file or folder below a folder that is opened or listed within the block."""
    seen: set[Path] = set()
    _WATCHED.append((folder, seen))
    try:
        yield seen
    finally:
        _WATCHED.pop()
