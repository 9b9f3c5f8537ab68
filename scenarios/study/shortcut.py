"""A study that was finished by the same command: recognised without torch, and shown at once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from probe.errors import InputError
from probe.printable import printable
from scenarios.flags import RunFlags
from scenarios.outcome import show_outcome
from scenarios.study.quarantine import notes
from scenarios.study.sealing import refuse_links
from scenarios.study.source import read_study
from scenarios.study.stamp import Stamp, read_stamp, sources, state

_COMPUTED_WITH = ("torch", "numpy", "scikit-learn", "scipy")


def told(flags: RunFlags) -> str:
    """Return a hash of what a `probe run` is told beside the study: by flags and surroundings."""
    record = {
        "flags": asdict(flags) | {"out": None},
        "folder": os.getcwd(),
        "home": os.path.expanduser("~"),
        "data": os.environ.get("PROBE_DATA"),
        "versions": [version(name) for name in _COMPUTED_WITH],
    }
    return hashlib.sha256(json.dumps(record, default=str).encode()).hexdigest()


def command_hash(study: Mapping[str, Any], beside: str) -> str:
    """Return a hash of a whole command: a study as it was written, and what is told beside it."""
    return hashlib.sha256(f"{json.dumps(study, default=str)} {beside}".encode()).hexdigest()


def shown_if_finished(source: str, flags: RunFlags) -> bool:
    """Show the results of a study if this very command has finished it; else return False.

    It has if the command, the files of data (by what `state` sees of them), every finished part,
    every table and every figure are what they were then. Nothing is loaded or written, and what is
    wrong is for the run itself to say.
    """
    try:
        study = read_study(source)
        root = flags.out or Path("runs") / str(study["name"])
        stamp = _stamp_of(root, command_hash(study, told(flags)))
    except (InputError, OSError, ValueError, LookupError):
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
    data = stamp.origin.data
    same = data == state([Path(path) for path in data]) and stamp.holds(root, sources(root))
    return stamp if same else None
