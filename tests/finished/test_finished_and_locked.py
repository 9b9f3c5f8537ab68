"""Locks in the run directory of a finished study, of those who live and of those who do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from probe.processes import birth

from tests.finished.small import OTHER_JOB, again, drawn
from tests.scenarios.execution.forked import lock_of


@pytest.mark.parametrize("lives", [True, False])
def test_where_there_is_a_lock_the_run_looks_for_its_holder(run: Path, lives: bool) -> None:
    """One that is dead is cleared away; one that lives may be about to change something."""
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        lock = lock_of(run / "locks", OTHER_JOB, other.pid, birth(other.pid) or "")
        if not lives:
            other.kill()
            other.wait()
        said = again(run.parent)
        assert (said.code, said.short) == (0, False)
        assert lock.exists() == lives
    finally:
        other.kill()
        other.communicate()


def test_who_has_lost_the_lock_makes_the_tables_again(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped while it drew, and others may have written since."""
    (run / "tables.json").unlink()
    times: list[Path] = []

    def overtaken(root: Path) -> None:
        drawn(root)
        times.append(root)
        if len(times) == 1:
            [own] = (root / "locks").glob("tables.*.lock")
            own.unlink()

    monkeypatch.setattr("tests.finished.small.drawn", overtaken)
    said = again(run.parent)
    assert (said.code, said.short) == (0, False)
    assert len(times) == 2
    assert again(run.parent).short
