"""A study that was finished by the same command: recognized without torch, and shown at once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from probe.errors import InputError
from scenarios.commands.flags import RunFlags
from scenarios.commands.results import show_outcome
from scenarios.study.quarantine import notes
from scenarios.study.sealing import read_sealed, refuse_links
from scenarios.study.source import read_study
from scenarios.study.stamp import Stamp, read_stamp, sources, state
from scenarios.terminal import printable

_COMPUTED_WITH = ("torch", "numpy", "scikit-learn", "scipy")


def told(flags: RunFlags) -> str | None:
    """Return a hash of what a `probe run` is told beside the study: by flags and surroundings.

    None if the current folder is gone.
    """
    try:
        folder = os.getcwd()
    except OSError:
        return None
    record = {
        "flags": asdict(flags) | {"out": None},
        "folder": folder,
        "home": os.path.expanduser("~"),
        "data": os.environ.get("PROBE_DATA"),
        "versions": [version(name) for name in _COMPUTED_WITH],
        "torch": _build_of_torch(),
    }
    return hashlib.sha256(json.dumps(record, default=str).encode()).hexdigest()


def _build_of_torch() -> bytes:
    """Return what torch says of itself: its metadata do not tell builds for CPU and GPU apart."""
    found = find_spec("torch")
    if found is None or found.origin is None:
        return b""
    try:
        return Path(found.origin).with_name("version.py").read_bytes()
    except OSError:
        return b""


def command_hash(study: Mapping[str, Any], beside: str) -> str:
    """Return a hash of a whole command: a study as it was written, and what is told beside it."""
    return hashlib.sha256(f"{json.dumps(study)} {beside}".encode()).hexdigest()


def shown_if_finished(source: str, flags: RunFlags) -> bool:
    """Show the results of a study if this very command has finished it; else return False.

    It has if the command, the files of data (by what `state` sees of them), every finished part,
    every table and every figure are what they were then. Nothing is loaded or written, and what is
    wrong is for the run itself to say.
    """
    try:
        study = read_study(source)
        root = flags.out or Path("runs") / str(study["name"])
        beside = told(flags)
        stamp = None if beside is None else _stamp_of(root, command_hash(study, beside))
    except (InputError, OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
    if stamp is None:
        return False
    console = Console()
    console.print(printable(f"{study['name']}: finished, nothing is left to do"), markup=False)
    show_outcome(console, root, study["scenario"].get("kind", "split") != "split", stamp.files)
    for note in notes(root):
        console.print(printable(note), markup=False)
    return True


def _stamp_of(root: Path, command: str) -> Stamp | None:
    """Return the stamp of a run directory that the command has finished; raises NotWritten."""
    stamp = read_stamp(root)
    if stamp is None or stamp.origin is None or stamp.origin.command != command:
        return None
    refuse_links(root)
    if any(_left(root)):
        return None
    data = stamp.origin.data
    if data != state([Path(path) for path in data]):
        return None
    description = read_sealed(root / "study.json")
    return stamp if stamp.holds(root, sources(root, description)) else None


def _left(root: Path) -> Iterator[Path]:
    """Yield what others do there, or have left as they were killed: the run itself clears it."""
    yield from root.glob("*.tmp")
    for folder in ("locks", "scratch"):
        yield from (root / folder).glob("*")
