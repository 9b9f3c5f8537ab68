"""Locks: never two holders, of real processes; the dead are not waited for, the living are."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from probe.processes import birth
from scenarios.execution.claims import Claims, Held, Watch

from tests.scenarios.execution.forked import (
    LEASE,
    a_dead_process,
    child,
    exit_code,
    fork,
    is_free,
    lock_of,
    no_links,
    own_mark,
    until,
)

PROCESSES, SECONDS = 5, 1.2
LEAST = 25  # times that each enters, however busy the machine is
PATIENCE = 60.0


def compete(folder: Path, seconds: float, exclusive: bool = True) -> int:
    """Count a shared number up and log each time; return 1 if somebody else was inside, too."""
    claims, start, counted = Claims(folder / "locks"), time.monotonic(), 0
    inside, number = folder / "inside", folder / "number"
    while time.monotonic() < start + (seconds if counted >= LEAST else PATIENCE):
        try:
            with claims.held("it" if exclusive else str(os.getpid())):
                if inside.exists() and birth(int(inside.read_text() or 0)) is not None:
                    return 1
                inside.write_text(str(os.getpid()))
                count = int(number.read_text())
                time.sleep(0.0005)
                number.write_text(str(count + 1))
                with (folder / f"log.{os.getpid()}").open("a") as log:
                    log.write(".")
                inside.unlink()
                counted += 1
        except Held:
            time.sleep(0.0002)
        if random.random() < 0.02:
            claims.forget()
    return 0


def competed(folder: Path, exclusive: bool = True) -> tuple[set[int], int, int]:
    """Return how the processes ended, the number, and how often they have counted."""
    folder.mkdir(exist_ok=True)
    (folder / "number").write_text("0")
    processes = [fork(lambda: compete(folder, SECONDS, exclusive)) for _ in range(PROCESSES)]
    codes = {exit_code(process) for process in processes}
    counted = sum(len(log.read_text()) for log in folder.glob("log.*"))
    return codes, int((folder / "number").read_text() or 0), counted


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_many_processes_never_two_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    codes, number, counted = competed(tmp_path / "run")
    assert codes == {0}
    assert number == counted > 100
    assert len(list((tmp_path / "run").glob("log.*"))) == PROCESSES


def test_without_a_common_lock_that_is_seen(tmp_path: Path) -> None:
    codes, number, counted = competed(tmp_path / "run", exclusive=False)
    assert 99 in codes or 1 in codes or number < counted


def test_never_two_inside_though_holders_are_killed(tmp_path: Path) -> None:
    chance, start, kills = random.Random(0), time.monotonic(), 0
    entered = tmp_path / "entered"
    entered.touch()
    processes = [fork(lambda: loop_inside(tmp_path)) for _ in range(PROCESSES)]

    def enough() -> bool:
        return kills > 10 and entered.stat().st_size > 100

    while time.monotonic() < start + (SECONDS if enough() else PATIENCE):
        time.sleep(chance.uniform(0, 0.02))
        victim = chance.randrange(PROCESSES)
        os.kill(processes[victim], signal.SIGKILL)
        assert exit_code(processes[victim]) == -signal.SIGKILL
        processes[victim] = fork(lambda: loop_inside(tmp_path))
        kills += 1
    for process in processes:
        os.kill(process, signal.SIGKILL)
        assert exit_code(process) == -signal.SIGKILL
    assert enough()
    assert is_free(Claims(tmp_path / "locks"))
    Claims(tmp_path / "locks").forget()
    assert not (tmp_path / "locks").exists()


def loop_inside(folder: Path) -> int:
    claims, inside = Claims(folder / "locks"), folder / "inside"
    while True:
        try:
            with claims.held("it"):
                # Written in one go, so that it is never half there.
                if inside.exists() and birth(int(os.readlink(inside))) is not None:
                    return 1
                inside.unlink(missing_ok=True)
                inside.symlink_to(str(os.getpid()))
                with (folder / "entered").open("a") as log:
                    log.write(".")
                inside.unlink()
        except Held:
            time.sleep(0.0002)


def test_a_lock_is_held_by_one_and_then_free(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "locks")
    assert claims.seen("it") is None
    with claims.held("it"):
        seen = claims.seen("it")
        assert seen is not None
        assert not seen.dead
        assert f"process {os.getpid()}" in seen.holder
        with pytest.raises(Held, match=f"process {os.getpid()} on"), claims.held("it"):
            pass
        assert is_free(claims, "another")
    assert claims.seen("it") is None
    assert is_free(claims)


def test_a_dead_process_is_not_waited_for(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "locks")

    def die() -> None:
        with claims.held("it"):
            os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code(fork(die)) == -signal.SIGKILL
    seen = claims.seen("it")
    assert seen is not None
    assert seen.dead
    start = time.monotonic()
    with claims.awaited("it"):
        assert time.monotonic() - start < 5  # and not for a lease


def test_one_that_was_not_waited_for_by_its_parent_is_dead(tmp_path: Path) -> None:
    """A process that has ended stays in the table of processes until its parent asks."""
    claims = Claims(tmp_path / "locks")
    process = fork(lambda: os._exit(0))
    until(lambda: birth(process) is None)
    lock_of(tmp_path / "locks", "it", process)
    assert is_free(claims)
    exit_code(process)


@pytest.mark.parametrize(
    ("mark", "free"), [("own", False), ("1", True), ("", False)], ids=["same", "other", "unknown"]
)
def test_a_number_that_is_now_another_process(tmp_path: Path, mark: str, free: bool) -> None:
    mark = own_mark() if mark == "own" else mark
    lock_of(tmp_path / "locks", "it", os.getpid(), mark)
    assert is_free(Claims(tmp_path / "locks")) is free


def test_processes_that_cannot_be_seen_are_respected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems hide other users' processes, so that there is no folder for them."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text("")
    lock_of(tmp_path / "a", "it", os.getppid())
    lock_of(tmp_path / "b", "it", a_dead_process())
    monkeypatch.setattr("probe.processes._PROC", tmp_path)
    assert not is_free(Claims(tmp_path / "a"))
    assert is_free(Claims(tmp_path / "b"))


@pytest.mark.parametrize(
    ("years", "content"),
    [
        (-30, "another machine"),
        (30, "another machine"),
        (0, ""),
        (30, "{spoiled"),
        (0, "[1, 2]"),
        (-30, '{"host": 1}'),
    ],
)
def test_one_that_cannot_be_known_is_respected_for_a_lease(
    tmp_path: Path, years: int, content: str
) -> None:
    """Whatever time its file has: only this process's clock counts."""
    lock = lock_of(tmp_path / "locks", "it", a_dead_process(), where="far away")
    if content != "another machine":
        lock.write_text(content)
    written = time.time() + years * 365.25 * 86400
    os.utime(lock, (written, written))
    claims = Claims(tmp_path / "locks", LEASE)
    assert not is_free(claims)
    start = time.monotonic()
    with claims.awaited("it"):
        assert LEASE <= time.monotonic() - start < 5 * LEASE
    assert is_free(claims)


@pytest.mark.parametrize("step", [1.0, -1e6, 1e6])
def test_one_that_is_renewed_is_respected_beyond_a_lease(tmp_path: Path, step: float) -> None:
    """Its clock may run as it likes, and jump."""
    lock = lock_of(tmp_path / "locks", "it", a_dead_process(), where="far away")
    claims, watch = Claims(tmp_path / "locks", LEASE), Watch(LEASE)
    end, written = time.monotonic() + 2.5 * LEASE, time.time()
    while time.monotonic() < end:
        written += step
        os.utime(lock, (written, written))
        seen = claims.seen("it")
        assert seen is not None
        assert not watch.stale(seen)
        time.sleep(LEASE / 5)
    assert watch.renewed("it")
    assert not is_free(claims)


def test_a_living_holder_is_never_overtaken(tmp_path: Path) -> None:
    """It renews its lock, while the other waits for three leases."""
    claims, watch = Claims(tmp_path / "locks", LEASE), Watch(LEASE)

    def hold() -> None:
        with claims.held("it"):
            time.sleep(60)

    with child(hold):
        until(lambda: claims.seen("it"))
        end = time.monotonic() + 3 * LEASE
        while time.monotonic() < end:
            seen = claims.seen("it")
            assert seen is not None
            assert not watch.stale(seen)
            time.sleep(LEASE / 10)
        assert watch.renewed("it")


def test_a_late_look_counts_for_little(tmp_path: Path) -> None:
    """Who was stopped itself cannot blame the holder: both may have been."""
    lock_of(tmp_path, "it", 1, where="far away")
    claims, watch = Claims(tmp_path, LEASE), Watch(LEASE)
    seen = claims.seen("it")
    assert seen is not None
    assert not watch.stale(seen)
    time.sleep(1.5 * LEASE)
    assert not watch.stale(seen)
    start = time.monotonic()
    until(lambda: watch.stale(seen))
    assert time.monotonic() - start >= LEASE / 2
