"""A disk that is full at any moment: one sentence, nothing lost, and the same command goes on."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from pathlib import Path

import pytest
from scenarios.study.quarantine import notes

from probe.errors import NotWritten
from scenarios.commands.main import main
from scenarios.commands.run import build
from tests.faults.small import FLAGS, JOB, contents, copied, run, tables, tmpfs

FULL = r"cannot (write|set|keep values in) \S+ .*\(No space left on device\).*make room"


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str) -> str:
    """Give a command that ends with exit code 2; return the one line that it says."""
    monkeypatch.setattr(sys, "argv", ["probe", *shlex.split(line)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main()
    _, err = capsys.readouterr()
    assert stop.value.code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def whole_results(out: Path) -> dict[str, bytes | None]:
    return {name: content for name, content in contents(out).items() if name.endswith(".json")}


@pytest.mark.parametrize(
    ("first", "step"), [("size=16k", 100), ("nr_inodes=2,size=9m", 2)], ids=["bytes", "files"]
)
def test_a_disk_that_grows_slowly(tmp_path: Path, finished: Path, first: str, step: int) -> None:
    """Every start finds some room and runs out of it again: at each of all writes, or nearly.

    That is at folders, locks, results, checkpoints, the description and tables.
    """
    name, _, rest = first.partition("=")
    room, starts, before = int("".join(filter(str.isdigit, rest.split(",")[0]))), 0, {}
    said: list[str] = []
    unit = "k" if name == "size" else ""
    with tmpfs(tmp_path / "disk", first) as remount:
        out = tmp_path / "disk" / "run"
        while True:
            try:
                assert run(out)
                break
            except NotWritten as error:
                said.append(str(error))
            starts += 1
            assert starts < 100
            after = whole_results(out) if out.exists() else {}
            assert {name: after[name] for name in before} == before
            assert not list(Path(tmp_path / "disk").rglob("*.tmp"))
            before, room = after, room + step
            remount(f"{name}={room}{unit}")
        assert starts > 15
        assert all("No space left on device" in line and "same command" in line for line in said)
        assert tables(out) == tables(finished)
        assert not (out / "quarantine").exists()
        left = {name for name in contents(out) if not name.startswith("locks")}
        assert left == contents(finished).keys()


@pytest.mark.parametrize("step", ["fsync", "replace", "link"])
def test_every_write_fails_in_turn(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As above where no disk can be mounted: the 1st, 2nd ... 8th call fails in turn.

    A step of training takes four writes, the tables six.
    """
    if step == "link":
        # The first description is made by a link; where there are none, in another way.
        monkeypatch.setattr(os, "link", failing(1, getattr(os, step)))
        assert run(tmp_path / "run")
        assert tables(tmp_path / "run") == tables(finished)
        return
    true, out, failures = getattr(os, step), tmp_path / "run", 0
    while True:
        monkeypatch.setattr(os, step, failing(1 + failures % 8, true))
        try:
            assert run(out)
            break
        except NotWritten:
            failures += 1
            assert not list(tmp_path.rglob("*.tmp"))
            assert failures < 100
    assert failures > 8
    assert tables(out) == tables(finished)


def failing(count: int, true):
    """Return a function whose call number `count` finds the disk full."""
    left = [count]

    def call(*arguments):
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return true(*arguments)

    return call


def test_the_command_line_says_it_in_one_sentence(
    tmp_path: Path,
    finished: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = f"run digits {FLAGS} --executor inline --out {tmp_path}/disk/run"
    with tmpfs(tmp_path / "disk", "size=800k"):
        assert f"cannot write {tmp_path}/disk/run/jobs/" in said(capsys, monkeypatch, command)
        done = sorted((tmp_path / "disk/run/jobs").rglob("*.json"))
        assert len(done) > 1
        for path in done:
            assert path.read_bytes()[-2:] == b'"}'


def test_a_worker_of_a_pool_finds_the_disk_full(tmp_path: Path, finished: Path) -> None:
    """It is not its job that fails: what cannot be written arrives in the parent as that."""
    with tmpfs(tmp_path / "disk", "size=1200k") as remount:
        out = tmp_path / "disk" / "run"
        with pytest.raises(NotWritten, match="No space left on device"):
            run(out, executor="pool")
        assert not list(out.rglob("*.tmp"))
        before = whole_results(out)
        remount("size=9m")
        assert run(out)
        assert tables(out) == tables(finished)
        assert {name: whole_results(out)[name] for name in before} == before


def test_figures_on_a_full_disk(
    tmp_path: Path,
    finished: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "disk" / "run"
    with tmpfs(tmp_path / "disk", "size=9m") as remount:
        copied(finished, out)
        fill(tmp_path / "disk" / "filler", keep=20_000)
        line = said(capsys, monkeypatch, f"figures {out}")
        assert f"cannot write {out}/figures" in line
        assert "--out" not in line
        assert not list(out.rglob("*.tmp"))
        remount("size=20m")
        written = build(out)
        assert written
        assert all(path.stat().st_size for path in written)


def fill(path: Path, keep: int = 0) -> None:
    disk = os.statvfs(path.parent)
    path.write_bytes(bytes(disk.f_bavail * disk.f_frsize - keep))


def test_what_cannot_be_set_aside_stays(tmp_path: Path, finished: Path) -> None:
    """A damaged result on a full disk: it stays where it is until there is room for a note."""
    with tmpfs(tmp_path / "disk", "size=9m") as remount:
        out = copied(finished, tmp_path / "disk" / "run")
        victim = out / "jobs" / JOB / "step-2.json"
        victim.write_bytes(b"spoiled")
        fill(tmp_path / "disk" / "filler")
        with pytest.raises(NotWritten, match=FULL):
            run(out)
        assert victim.read_bytes() == b"spoiled"
        assert notes(out) == []
        remount("size=20m")
        assert run(out)
        assert len(notes(out)) == 1
        assert (out / "quarantine" / f"{JOB}.step-2.json").read_bytes() == b"spoiled"
        assert tables(out) == tables(finished)


def test_values_that_find_no_room_stop_the_study(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has taken the room since the values were given their places."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NotWritten, match=FULL):
        run(tmp_path / "run", cache_budget=0)
    monkeypatch.undo()
    assert run(tmp_path / "run", cache_budget=0)
    assert tables(tmp_path / "run") == tables(finished)


@pytest.mark.parametrize("command", ["status {out}", "run digits " + FLAGS + " --out {out}"])
def test_what_is_shown_finds_the_disk_full(
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """Standard output goes to a file on a full disk."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    out = copied(finished, tmp_path / "run")
    monkeypatch.setattr("scenarios.commands.run.build", lambda root: [])
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        line = said(capsys, monkeypatch, command.format(out=out))
    assert "cannot write what is shown (No space left on device): make room" in line
