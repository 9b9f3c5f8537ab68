"""A disk that is full or read-only: one sentence, nothing lost, and the same command goes on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figures.build import build
from probe.errors import NotWritten
from scenarios.commands.status import show_status
from scenarios.study.store import quarantine_notes
from tests.scenarios.execution.helpers import TINY, results, run, tables
from tests.slow.helpers import JOB, contents, copied, tmpfs

pytestmark = pytest.mark.slow

FULL = r"cannot (write|set|keep values in) .*\(No space left on device\).*make room"


@pytest.mark.parametrize(
    ("first", "step"), [("size=16k", 130), ("nr_inodes=2,size=9m", 4)], ids=["bytes", "files"]
)
def test_a_disk_that_grows_slowly(tmp_path: Path, finished: Path, first: str, step: int) -> None:
    """Every start finds some room and runs out of it again: at folders, locks, results, tables."""
    name, _, rest = first.partition("=")
    room, starts, before = int("".join(filter(str.isdigit, rest.split(",")[0]))), 0, {}
    unit = "k" if name == "size" else ""
    with tmpfs(tmp_path / "disk", first) as remount:
        out = tmp_path / "disk" / "run"
        while True:
            try:
                assert run(out)
                break
            except NotWritten as error:
                said = str(error)
            starts += 1
            assert starts < 100
            assert "No space left on device" in said
            assert "same command" in said or "--out" in said
            after = results(out)
            assert after.items() >= before.items()
            assert not list((tmp_path / "disk").rglob("*.tmp"))
            before, room = after, room + step
            remount(f"{name}={room}{unit}")
        assert starts > 10
        assert tables(out) == tables(finished)
        assert contents(out).keys() == contents(finished).keys()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_every_write_fails_in_turn(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As above where no disk can be mounted: the 1st, 2nd ... 16th call fails in turn."""
    true, out, failures = getattr(os, step), tmp_path / "run", 0
    while True:
        monkeypatch.setattr(os, step, failing(1 + failures % 16, true))
        try:
            assert run(out)
            break
        except NotWritten as error:
            failures += 1
            assert "nothing that was finished is lost" in str(error)  # noqa: PT017
            assert not list(tmp_path.rglob("*.tmp"))
            assert failures < 100
    assert failures > 8
    assert tables(out) == tables(finished)


def failing(count: int, true: Callable[..., None]) -> Callable[..., None]:
    """Return a function whose call number `count` finds the disk full."""
    left = [count]

    def call(*arguments: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        true(*arguments)

    return call


def test_a_worker_finds_the_disk_full(tmp_path: Path, finished: Path) -> None:
    """It is not its job that fails: what cannot be written arrives in the parent as that."""
    with tmpfs(tmp_path / "disk", "size=1200k") as remount:
        out = tmp_path / "disk" / "run"
        with pytest.raises(NotWritten, match="No space left on device"):
            run(out, executor="pool", workers=2)
        assert not list(out.rglob("*.tmp"))
        before = results(out)
        assert before
        remount("size=9m")
        assert run(out)
        assert tables(out) == tables(finished)
        assert results(out).items() > before.items()


def fill(path: Path, keep: int = 0) -> None:
    disk = os.statvfs(path.parent)
    path.write_bytes(bytes(disk.f_bavail * disk.f_frsize - keep))


def test_figures_on_a_full_disk(tmp_path: Path, finished: Path, probe: Any) -> None:
    out = tmp_path / "disk" / "run"
    with tmpfs(tmp_path / "disk", "size=9m") as remount:
        copied(finished, out)
        fill(tmp_path / "disk" / "filler", keep=20_000)
        code, _, error = probe(f"figures {out}")
        assert (code, error.count("\n")) == (2, 1)
        assert error.startswith(f"error: cannot write {out}/figures")
        assert "--out" not in error
        assert not list(out.rglob("*.tmp"))
        remount("size=20m")
        assert all(path.stat().st_size for path in build(out))


def test_what_cannot_be_set_aside_stays(tmp_path: Path, finished: Path) -> None:
    """A corrupt result on a full disk: it stays where it is until there is room for its folder."""
    with tmpfs(tmp_path / "disk", "size=9m,nr_inodes=1k") as remount:
        out = copied(finished, tmp_path / "disk" / "run")
        [victim] = out.glob(f"jobs/{JOB}/*/step-2.json")
        victim.write_bytes(b"spoiled")
        used = sum(1 for _ in (tmp_path / "disk").rglob("*"))
        remount(f"nr_inodes={used + 1}")
        with pytest.raises(NotWritten, match=FULL):
            run(out)
        assert victim.read_bytes() == b"spoiled"
        remount("nr_inodes=1k")
        assert run(out)
        assert len(quarantine_notes(out)) == 1
        [kept] = (out / "quarantine").glob(f"{JOB}*.step-2.json")
        assert kept.read_bytes() == b"spoiled"
        assert tables(out) == tables(finished)


def test_values_that_find_no_room_stop_the_study(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has taken the room since the values were given their places."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(NotWritten, match=FULL):
            run(tmp_path / "run", cache_budget="0MB")
    assert run(tmp_path / "run", cache_budget="0MB")
    assert tables(tmp_path / "run") == tables(finished)


@pytest.mark.parametrize("command", ["status {out}", f"run {TINY} --executor inline --out {{out}}"])
def test_what_is_shown_finds_the_disk_full(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: Any, command: str
) -> None:
    """Standard output goes to a file on a full disk."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    out = copied(finished, tmp_path / "run")
    monkeypatch.setattr("scenarios.commands.run.build", lambda *_, **__: [])
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", full)
        code, _, error = probe(command.format(out=out))
    assert code == 2
    assert error.startswith("error: cannot write what is shown (No space left on device): make")
    assert error.count("\n") == 1


def test_a_read_only_disk(tmp_path: Path, finished: Path) -> None:
    """A study there cannot go on, and can be looked at."""
    with tmpfs(tmp_path / "disk", "size=20m") as remount:
        out = copied(finished, tmp_path / "disk" / "run")
        for path in out.glob(f"jobs/{JOB}/*/feature-hidden1.json"):
            path.unlink()
        remount("ro")
        before = contents(tmp_path / "disk")
        with pytest.raises(NotWritten, match=r"cannot write .* \(Read-only file system\)"):
            run(out)
        show_status(out)
        with pytest.raises(NotWritten, match=r"figures.* \(Read-only file system\)"):
            build(out)
        assert contents(tmp_path / "disk") == before
        remount("rw")
        assert run(out)
        assert tables(out) == tables(finished)
