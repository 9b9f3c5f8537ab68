"""Locks of folders: one holder at a time, released by its death; a look changes nothing."""

import errno
import os
import signal
import time
from contextlib import suppress

import pytest

from probe.errors import NotWritten
from probe.locks import Locked, is_locked, lock
from tests.scenarios.execution.helpers import alive, child, exit_code, fork, until


def hold(folder):
    with lock(folder):
        until((folder / "end").exists)


def test_a_lock_is_held_by_one_and_then_free(tmp_path):
    def is_refused():
        with (
            pytest.raises(Locked, match="is locked by another process"),
            lock(tmp_path),
        ):
            pass
        return is_locked(tmp_path)

    with suppress(KeyError), lock(tmp_path):
        assert is_refused()
        assert exit_code(fork(is_refused)) == 0
        assert not is_locked(tmp_path.parent)
        raise KeyError
    assert not is_locked(tmp_path)


def test_a_lock_is_free_once_its_holder_is_killed(tmp_path):
    def wait(holder):
        with lock(tmp_path, wait=True):
            return not alive(holder)

    with child(lambda: hold(tmp_path)) as holder:
        until(lambda: is_locked(tmp_path))
        waiter = fork(lambda: wait(holder))
        os.kill(holder, signal.SIGKILL)
        assert exit_code(holder) == -signal.SIGKILL
        assert exit_code(waiter) == 0
    assert not is_locked(tmp_path)


def test_a_lock_held_for_a_moment_is_only_looked_at(tmp_path, monkeypatch):
    """Else of two shards that look at the same time neither might write the tables."""
    monkeypatch.setattr("probe.locks._MOMENT", 600.0)
    sleep = time.sleep
    with child(lambda: hold(tmp_path)):
        until((tmp_path / "lock").exists)
        # Released once it was found locked.
        monkeypatch.setattr(
            time, "sleep", lambda s: sleep(s) or (tmp_path / "end").touch()
        )
        assert not is_locked(tmp_path)


def test_a_look_changes_nothing_and_needs_no_right_to_write(tmp_path, monkeypatch):
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with lock(tmp_path):
        pass
    opened = os.open

    def read_only(path, flags, *arguments):
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, flags, *arguments)

    monkeypatch.setattr(os, "open", read_only)
    assert not is_locked(tmp_path)
    said = r"cannot write .*lock \(Read-only file system\)"
    with pytest.raises(NotWritten, match=said), lock(tmp_path):
        pass
