"""What must hold of a run directory after every kill, and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from scenarios.study.identity import Identity

from probe.tables.run_directory import TABLES
from scenarios.study.job import Job, jobs_of, parts_of
from scenarios.study.store import Store


class Broken(Exception):
    """A law does not hold."""


class Witness:
    """Looks at a run directory again and again; files: how many it has read.

    tables: those of a run that nobody has disturbed.
    """

    def __init__(self, root: Path, identity: Identity, tables: Mapping[str, bytes]) -> None:
        self._root = root
        self._identity = identity
        self._tables = tables
        self._finished: dict[Path, tuple[int, int]] = {}
        self.files = 0

    def look(self) -> None:
        """Every file is whole, nothing is set aside, what was finished is the same file still."""
        found: dict[Path, tuple[int, int]] = {}
        for job in self._jobs():
            for path in (self._root / "jobs" / job.name).glob("*"):
                if path.suffix != ".tmp":
                    self._read(job, path)
                if path.suffix == ".json":
                    stat = path.stat()
                    found[path] = (stat.st_ino, stat.st_mtime_ns)
        _require(not (self._root / "quarantine").exists(), "something was set aside")
        for path, file in self._finished.items():
            _require(found.get(path) == file, f"{path} was finished and has been written again")
        self._finished = found

    def end(self) -> None:
        """Everything is finished, the tables are those expected, and nothing else is left."""
        self.look()
        expected = {
            self._root / "jobs" / job.name / f"{part}.json"
            for job in self._jobs()
            for part in parts_of(self._identity.study, job)
        }
        _require(expected <= self._finished.keys(), "a part is missing")
        for name in TABLES:
            whole = self._root / name
            _require(whole.exists(), f"there is no {name}")
            _require(whole.read_bytes() == self._tables[name], f"{name} is not the expected one")
        left = [str(path) for path in self._root.rglob("*.tmp")]
        left += [name for name in ("locks", "scratch", "failures") if (self._root / name).exists()]
        _require(not left, f"there are left: {', '.join(left)}")

    def _jobs(self) -> list[Job]:
        return jobs_of(self._identity.study, len(self._identity.tasks))

    def _read(self, job: Job, path: Path) -> None:
        store = Store(self._root, self._identity.of(job))
        name = path.name
        if name.endswith(".checkpoint.json"):
            part = name.removesuffix(".checkpoint.json")
            whole = store.load_checkpoint(job.name, part) is not None
        elif name.endswith(".json"):
            whole = store.read(job.name, path.stem) is not None
        else:
            # Without its description yet, so that there is no hash to compare with.
            whole = name.endswith(".pt") and _loads(path)
        _require(whole, f"{path} is not whole")
        self.files += 1


def _loads(path: Path) -> bool:
    try:
        return bool(torch.load(path, weights_only=True))
    except (RuntimeError, OSError, EOFError):
        return False


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
