"""What must hold of a run directory after every kill, and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.store import Store
from probe.results.run_directory import read_plan, store_of
from tests.scenarios.execution.helpers import results


class Broken(Exception):
    """A law does not hold."""


class Witness:
    """Looks at a run directory again and again; files: how many it has read.

    expected: the tables of a run that nobody has disturbed.
    """

    def __init__(self, root: Path, expected: Mapping[str, bytes]) -> None:
        self._root = root
        self._expected = expected
        self._finished: dict[str, tuple[int, int]] = {}
        self.files = 0

    def look(self) -> None:
        """Every file is whole, nothing is set aside, what was finished is the same file still."""
        for store, _ in self._jobs():
            contents, files = store.contents(), list(store.folder.glob("*.pt"))
            _require(not contents.corrupt, f"{store.folder} is not whole: {contents.corrupt}")
            for path in files:
                _require(_is_whole(store, path), f"{path} is not whole")
            self.files += len(contents.finished) + len(files)
        _require(not (self._root / "quarantine").exists(), "something was set aside")
        found = results(self._root)
        for name, file in self._finished.items():
            _require(found.get(name) == file, f"{name} was finished and has been written again")
        self._finished = found

    def end(self) -> None:
        """Everything is finished, the tables are those expected, and nothing else is left."""
        self.look()
        finished = all(store.finished() >= set(parts) for store, parts in self._jobs())
        _require(finished, "a part is missing")
        for name, expected in self._expected.items():
            path = self._root / name
            there = path.read_bytes() if path.exists() else b""
            _require(there == expected, f"{name} is not the expected one")
        left = [str(path) for path in self._root.rglob("*.tmp")]
        left += [name for name in ("scratch", "failures") if (self._root / name).exists()]
        _require(not left, f"there are left: {', '.join(left)}")

    def _jobs(self) -> list[tuple[Store, list[str]]]:
        """Return where each job is, and its parts."""
        if not (self._root / "study.json").exists():
            return []
        plan = read_plan(self._root)
        return [(store_of(plan, self._root, job), parts_of(plan, job)) for job in jobs_of(plan)]


def _is_whole(store: Store, path: Path) -> bool:
    step = path.name.partition(".")[0]
    if (path.parent / f"{step}.checkpoint.json").exists():
        return store.load_checkpoint(step) is not None
    try:
        # Without its description yet, so that there is no hash to compare with.
        return bool(torch.load(path, weights_only=True))
    except (RuntimeError, OSError, EOFError):
        return False


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
