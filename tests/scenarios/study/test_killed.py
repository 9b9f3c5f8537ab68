"""Killed at any moment and started again, a study gives the same tables, bit for bit."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from probe.tables.rows import TimeRow
from probe.tables.run_directory import TABLES, TIMES
from probe.tables.table_file import read_table
from tests.scenarios.tiny_run import TINY, Tiny

FEATURES = TINY.replace('"hidden1"', '"hidden1", "hidden2"')


def killed_at(tiny: Tiny, fatal: Callable[[Path], bool], toml: str, **flags: object) -> bool:
    """Run the study in a fork and die by SIGKILL right before a file is replaced, if it comes."""
    process = os.fork()
    if process == 0:
        replace = os.replace

        def deadly(source: Path, target: Path) -> None:
            if fatal(Path(target)):
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)

        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.replace = deadly  # type: ignore[assignment]
            tiny.run(toml, **flags)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def test_killed_at_every_write(fresh: Tiny, finished_study: Tiny) -> None:
    """The starts die in turn in their 1st, 2nd ... 8th write.

    Every start writes study.json first; a step of training takes four writes, the tables seven.
    """
    starts = 0
    while not (fresh.root / TABLES[-1]).exists():
        left = [1 + starts % 8]

        def count_down(target: Path, left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] == 0

        killed_at(fresh, count_down, TINY)
        starts += 1
        assert starts < 100
    assert starts > 8
    fresh.run()
    assert fresh.tables() == finished_study.tables()
    times = read_table(fresh.root / TIMES, TimeRow)
    assert len([row for row in times if row.seconds]) == len(times) == 2 + 1
    assert not list(fresh.root.rglob("*.tmp"))
    assert not (fresh.root / "quarantine").exists()


def test_killed_with_values_on_the_disk(fresh: Tiny) -> None:
    """Killed while the values of two features are memory-mapped, and those of one."""
    fresh.run(FEATURES)
    kept = Tiny(fresh.folder.with_name("kept"))
    for part in ("feature-hidden1.json", "feature-hidden2.json"):
        assert killed_at(kept, lambda to, part=part: to.name == part, FEATURES, cache_budget="0")
        assert list((kept.root / "scratch").iterdir()) == []
    kept.run(FEATURES, cache_budget="0")
    assert kept.tables() == fresh.tables()
    assert not (kept.root / "scratch").exists()
