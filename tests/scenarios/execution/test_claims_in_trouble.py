"""Locks of holders that were stopped, whose folder is gone, or that there is no room for."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from probe.processes import birth
from scenarios.execution.claims import Claims, Lost

from probe.errors import NotWritten
from tests.scenarios.execution.forked import (
    LEASE,
    a_dead_process,
    child,
    exit_code,
    fork,
    is_free,
    lock_of,
    no_links,
    until,
)


def test_a_stopped_holder_finds_out_and_writes_no_more(tmp_path: Path) -> None:
    claims, written = Claims(tmp_path / "locks", LEASE), tmp_path / "written"

    def write_on() -> int:
        try:
            with claims.held("it") as check:
                while True:
                    check()
                    with written.open("a") as file:
                        file.write(".")
                    time.sleep(0.001)
        except Lost:
            return 7

    with child(write_on) as process:
        until(written.exists)
        os.kill(process, signal.SIGSTOP)
        os.waitpid(process, os.WUNTRACED)
        before = written.stat().st_size
        with claims.awaited("it"):
            held = claims.seen("it")
            os.kill(process, signal.SIGCONT)
            assert exit_code(process) == 7
            # It may have been stopped between the check and the write: once.
            assert written.stat().st_size <= before + 1
            # What it gave back was not the lock of the one that came after it, who renews it.
            seen = claims.seen("it")
            assert held is not None
            assert seen is not None
            assert replace(seen, beat=held.beat) == held
            assert not is_free(claims)
    assert is_free(claims)


def test_the_next_file_is_enough(tmp_path: Path) -> None:
    """Who takes over makes its file first, and may take its time to remove the one before."""
    claims = Claims(tmp_path, LEASE)
    with claims.held("it") as check:
        lock_of(tmp_path, "another", os.getppid()).rename(tmp_path / "another.2.lock")
        check()
        lock_of(tmp_path, "other", os.getppid()).rename(tmp_path / "it.2.lock")
        assert (tmp_path / "it.1.lock").exists()
        with pytest.raises(Lost):
            check()


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def move_away(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


@pytest.mark.parametrize("do", [remove, move_away])
def test_the_folder_is_gone(tmp_path: Path, do: Callable[[Path], None]) -> None:
    root = tmp_path / "run"
    root.mkdir()
    claims = Claims(root / "locks", LEASE)
    with claims.held("it") as check:
        check()
        do(root / "locks")
        with pytest.raises(Lost):
            check()
        # Somebody else begins anew, with the same number: it is still not this process's.
        lock_of(root / "locks", "it", os.getppid(), birth(os.getppid()) or "")
        with pytest.raises(Lost):
            check()
    seen = claims.seen("it")
    assert seen is not None
    assert f"process {os.getppid()} " in seen.holder
    do(root)
    assert claims.seen("it") is None
    with pytest.raises(NotWritten, match=r"cannot write .*No such file"), claims.held("it"):
        pass
    assert not root.exists()


def test_what_lies_in_the_place_of_a_lock(tmp_path: Path) -> None:
    """A folder, a pipe and a link to nowhere are no locks, and nobody waits for them for ever."""
    claims = Claims(tmp_path / "locks", LEASE)
    (tmp_path / "locks" / "it.1.lock").mkdir(parents=True)
    os.mkfifo(tmp_path / "locks" / "pipe.1.lock")
    (tmp_path / "locks" / "link.1.lock").symlink_to("nowhere")
    for name in ("it", "pipe", "link"):
        with claims.awaited(name):
            assert not is_free(claims, name)
        assert is_free(claims, name)
    assert not (tmp_path / "locks" / "nowhere").exists()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for folder in ("file", "link"):
        with pytest.raises(NotWritten, match="cannot write"), Claims(tmp_path / folder).held("it"):
            pass


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_no_room_for_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    """A file may be made but not be written to: nothing is left that others would wait for."""
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    claims = Claims(tmp_path / "locks")

    def without_room() -> int:
        with claims.held("before"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            with pytest.raises(NotWritten, match="make room"), claims.held("it"):
                pass
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
        return 7

    assert exit_code(fork(without_room)) == 7
    assert list((tmp_path / "locks").iterdir()) == []
    assert claims.all_seen() == []
    assert is_free(claims)


def test_only_free_locks_are_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    claims = Claims(folder)
    lock_of(folder, "dead", a_dead_process())
    lock_of(folder, "far", 1, where="far away")
    for _ in range(3):
        assert is_free(claims, "used")
    with claims.held("mine") as check:
        assert [lock.name for lock in claims.all_seen()] == ["dead", "far", "mine"]
        claims.forget()
        check()
        left = {path.name for path in folder.iterdir()}
        assert left == {"far.1.lock", "mine.1.lock"}
    (folder / "far.1.lock").unlink()
    claims.forget()
    assert not folder.exists()


def test_two_names_never_meet(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    with claims.held("a"), claims.held("a.1"), claims.held("a.1.lock"), claims.held("A?[*"):
        assert not is_free(claims, "a")
        assert is_free(claims, "a.2")
        assert is_free(claims, "a.1.lock.1")
