"""A lock is renewed while it is held, often and whatever goes wrong, and no longer than that."""

from __future__ import annotations

import os
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from scenarios.execution.claims import Claims

from tests.scenarios.execution.forked import LEASE, lock_of, until


def changes(path: Path) -> None:
    """Wait until a file has another time than now."""
    before = path.stat().st_mtime_ns
    until(lambda: path.stat().st_mtime_ns != before)


def test_what_was_given_back_is_not_renewed(tmp_path: Path) -> None:
    """Else one that is dead would look alive: here of the same number, and of another machine."""
    threads = threading.active_count()
    with Claims(tmp_path, LEASE).held("it"):
        changes(tmp_path / "it.1.lock")
        changes(tmp_path / "it.1.lock")
    until(lambda: threading.active_count() == threads, seconds=5)
    lock = lock_of(tmp_path, "it", 1, where="far away")
    os.utime(lock, (1, 1))
    time.sleep(LEASE)
    assert lock.stat().st_mtime == 1


def test_a_renewal_that_fails_is_not_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of a network may be away for a moment."""
    utime, failures = os.utime, list(range(3))

    def away(path: Path) -> None:
        if failures:
            raise OSError(failures.pop())
        utime(path)

    monkeypatch.setattr(os, "utime", away)
    with Claims(tmp_path, LEASE).held("it"):
        changes(tmp_path / "it.1.lock")
    assert not failures


def test_it_is_renewed_several_times_a_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that one or two that come late cost nothing; by a clock that only waiting moves on."""

    class Clock(threading.Event):
        now = 0.0

        def wait(self, timeout: float | None = None) -> bool:
            self.now += timeout or 0.0
            return self.now > 5 * LEASE

    clock, renewed = Clock(), [0.0]
    monkeypatch.setattr(os, "utime", lambda path: renewed.append(clock.now))
    Claims(tmp_path, LEASE)._renew(tmp_path / "it.1.lock", clock)
    assert renewed[-1] > 4 * LEASE
    assert max(after - before for before, after in pairwise(renewed)) < LEASE / 3
