"""Killed at any moment and started again, a study gives the same tables, bit for bit."""

import os
import signal

import pytest

from probe.tables.table_file import read_table
from tests.scenarios.execution.helpers import exit_code, fork
from tests.scenarios.table_names import TABLES, TIMES
from tests.scenarios.tiny_run import TINY, Tiny
from tests.slow.helpers import killed_at

FEATURES = TINY.replace('"hidden1"', '"hidden1", "hidden2"')


def killed_in_write(number, tiny):
    """Run the study in a child that is killed -9 in so manyth a replacement of a file."""

    def act():
        replace = os.replace
        left = iter(range(number - 1))

        def deadly(source, target):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)

        os.replace = deadly  # type: ignore[assignment]
        tiny.run()

    assert exit_code(fork(act)) in (0, -signal.SIGKILL)


@pytest.mark.slow
def test_killed_at_every_write(fresh, finished_study):
    """The starts die in turn in their 1st, 2nd ... 8th write.

    Every start writes study.json first; a step of training takes two writes, the tables
    seven.
    """
    n_starts = 0
    while not (fresh.root / TABLES[-1]).exists():
        killed_in_write(1 + n_starts % 8, fresh)
        n_starts += 1
        assert n_starts < 100
    assert n_starts > 5
    fresh.ran()
    assert fresh.tables() == finished_study.tables()
    times = read_table(fresh.root / TIMES, "times")
    assert len(times) == 2 + 1
    assert times["seconds"].all()
    assert not list(fresh.root.rglob("*.tmp"))
    assert not (fresh.root / "quarantine").exists()


def test_killed_with_values_on_the_disk(fresh):
    """Killed while the values of two features are memory-mapped, and those of one."""
    fresh.ran(FEATURES)
    kept = Tiny(fresh.folder.with_name("kept"))
    for feature in ("hidden1", "hidden2"):
        killed_at(
            f"retrain of {feature} after 2",
            lambda: kept.run(FEATURES, cache_budget="0"),
        )
        assert list((kept.root / "scratch").iterdir()) == []
    kept.run(FEATURES, cache_budget="0")
    assert kept.tables() == fresh.tables()
    assert not (kept.root / "scratch").exists()
