"""The same `probe run` again, on a study that is finished, and on one that is not quite."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from scenarios.execution.claims import Claims

from figures import FORMATS
from probe.files import suffix
from scenarios.commands import run as module
from scenarios.execution import work
from scenarios.execution.work import Work
from tests.faults.small import tmpfs
from tests.faults.test_disk_full import fill
from tests.finished.small import (
    DIGITS,
    JOB,
    OTHER_JOB,
    RESULTS,
    Said,
    again,
    copied,
    finished,
    probe,
    shown,
    tables,
    touched,
)
from tests.scenarios.execution.forked import exit_code, fork

HEAVY = ("torch", "torchvision", "scipy", "sklearn", "matplotlib")
RUN = f"""
import sys
from scenarios.commands.main import main
try:
    main()
finally:
    print(sorted(set(sys.modules) & set({HEAVY})))
"""
LEASE = 0.6
SAID = "tiny: finished, nothing is left to do\n"


def long(said: Said, code: int = 0) -> None:
    assert (said.code, said.short) == (code, False)
    assert "nothing is left" not in said.out


def short(said: Said) -> None:
    assert (said.code, said.short) == (0, True)
    assert said.out.startswith(SAID)


def test_it_is_said_and_shown_without_anything_heavy(tmp_path: Path) -> None:
    """In a process of its own, with the figures that were really drawn."""
    (tmp_path / "tiny.toml").write_text(DIGITS)
    command = ["run", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "run"), "--workers", "1"]
    first = probe(*command, draw=True)
    long(first)
    assert {f"depth.{kind}" for kind in FORMATS} < set(os.listdir(tmp_path / "run" / "figures"))
    before = touched(tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command],
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    *out, seen = done.stdout.splitlines(keepends=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert seen == "[]\n"
    assert "".join(out) == SAID + first.results
    assert touched(tmp_path / "run") == before


def test_what_was_set_aside_is_said_every_time(run: Path) -> None:
    (run / "jobs" / JOB / "step-2.json").write_bytes(b"spoiled")
    first, second = again(run.parent), again(run.parent)
    long(first)
    short(second)
    assert second.out == SAID + first.results
    assert f"jobs/{JOB}/step-2.json: its content does not match" in " ".join(second.out.split())


def test_kemkers_table_is_shown_too(tmp_path: Path) -> None:
    finished(tmp_path, DIGITS.replace("train_limit", 'kind = "incremental"\ntrain_limit'))
    second, third = again(tmp_path), again(tmp_path, "--seeds", 1)
    short(second)
    long(third)
    assert "Kemker's Omegas" in second.out
    assert second.results == third.results


def test_other_flags_make_nothing_anew(run: Path) -> None:
    """But for a note of what was asked for last."""
    for flags in (["--seeds", 1], [], ["--executor", "inline"]):
        before = touched(run)
        long(again(run.parent, *flags))
        after = touched(run)
        assert before.keys() == after.keys()
        # The folder itself has had a folder of locks meanwhile.
        assert {name for name in after if after[name] != before[name]} == {".", "tables.json"}
        short(again(run.parent, *flags))
        assert touched(run) == after


def ill(*arguments: object) -> Iterator[str]:
    """Fail in one of the jobs."""
    if getattr(arguments[1], "name", "") == OTHER_JOB:
        raise KeyError("nobody foresaw this")
    yield from TRUE(*arguments)  # type: ignore[arg-type]


TRUE = work.run_job


@pytest.mark.parametrize("before", [True, False])
def test_a_study_of_which_a_job_has_failed(
    tmp_path: Path, proto: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """Also if it was finished before, and a part of it was lost since."""
    if before:
        run = copied(proto, tmp_path / "copy")
        (run / "jobs" / OTHER_JOB / "step-5.json").unlink()
    else:
        run = tmp_path / "copy" / "run"
        run.parent.mkdir()
        shutil.copy(proto.parent / "tiny.toml", run.parent)
    with monkeypatch.context() as patch:
        patch.setattr(work, "run_job", ill)
        for _ in range(2):
            said = again(run.parent)
            long(said, code=1)
            assert f"{OTHER_JOB}: KeyError" in said.out
            assert tables(run) != tables(proto)
    long(again(run.parent))
    assert tables(run) == tables(proto)
    short(again(run.parent))


def test_a_part_that_comes_back_by_hand(
    run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All parts are as when the study was finished; the tables are of a moment without one."""
    part = run / "jobs" / OTHER_JOB / "step-5.json"
    part.rename(run.parent / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(work, "run_job", ill)
        long(again(run.parent), code=1)
    (run.parent / "kept").rename(part)
    long(again(run.parent))
    assert shown(run) == shown(proto)
    short(again(run.parent))


@pytest.mark.parametrize("before", [True, False])
def test_a_shard_that_has_done_its_part_only(
    run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """What another one has is not finished, whatever was when this command was last given."""
    monkeypatch.setattr(module, "Work", partial(Work, lease=LEASE))
    if before:
        long(again(run.parent, "--shard", "1/2"))
        short(again(run.parent, "--shard", "1/2"))
    else:
        (run / "tables.json").unlink()
    shutil.rmtree(run / "jobs" / OTHER_JOB)
    known = touched(run).get("tables.json")
    with Claims(run / "locks", LEASE).held(OTHER_JOB):
        for _ in range(2):
            said = again(run.parent, "--shard", "1/2")
            long(said)
            assert "1 jobs are being done by other processes" in said.out
            assert RESULTS not in said.out
            assert touched(run).get("tables.json") == known
    long(again(run.parent, "--shard", "1/2"))
    assert tables(run) == tables(proto)
    short(again(run.parent, "--shard", "1/2"))


def full(said: Said, path: Path) -> None:
    long(said, code=2)
    assert said.err.startswith(f"error: cannot write {path}")
    assert "No space left on device" in said.err
    assert said.err.count("\n") == 1


def test_a_disk_that_is_full(tmp_path: Path, proto: Path) -> None:
    """There is a page for the lock, and none for what is written under it."""
    with tmpfs(tmp_path / "disk", "size=20m") as remount:
        run = copied(proto, tmp_path / "disk" / "copy")
        before, known = shown(run), (run / "tables.json").read_bytes()
        fill(tmp_path / "disk" / "filler", keep=4096)
        full(again(run.parent, "--seeds", 1), run / "tables.json")
        assert not list(run.rglob("*.tmp"))
        assert (run / "tables.json").read_bytes() == known
        short(again(run.parent))
        remount("size=30m")
        long(again(run.parent, "--seeds", 1))
        short(again(run.parent, "--seeds", 1))
        assert shown(run) == before


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_finds_no_room(
    run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As above where no disk can be mounted; the tables and figures are made anew before it."""

    def no_room() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in ("tables.json", "rows.csv"):
        (run / name).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, _at_the_note(run, getattr(os, step), no_room))
        full(again(run.parent), run / "tables.json")
    assert not list(run.rglob("*.tmp"))
    assert not (run / "tables.json").exists()
    assert shown(run) == shown(proto)
    before = touched(run)["rows.csv"]
    long(again(run.parent))
    short(again(run.parent))
    assert touched(run)["rows.csv"] != before  # nobody knew what it was made of
    assert shown(run) == shown(proto)


def _at_the_note(
    run: Path, true: Callable[..., None], what: Callable[[], None]
) -> Callable[..., None]:
    """Return a step of the system that first does something else, once tables.json is written."""

    def call(*arguments: object) -> None:
        if list(run.glob("tables.json.*.tmp")):
            what()
        true(*arguments)

    return call


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("lost", [(), ("tables.json",), ("tables.json", "rows.csv")])
def test_a_process_that_is_killed_as_it_writes(
    run: Path, proto: Path, step: str, lost: tuple[str, ...]
) -> None:
    for name in lost:
        (run / name).unlink()

    def killed() -> int:
        def kill() -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(os, step, _at_the_note(run, getattr(os, step), kill))
        return again(run.parent, "--seeds", 1).code

    assert exit_code(fork(killed)) == -signal.SIGKILL
    assert list(run.glob("tables.json.*.tmp"))
    assert (run / "tables.json").exists() == (not lost)
    long(again(run.parent, "--seeds", 1))
    assert not list(run.rglob("*.tmp"))
    assert not (run / "locks").exists()
    short(again(run.parent, "--seeds", 1))
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("folder", ["scratch", "."])
def test_what_a_killed_process_has_left_is_cleared_away(
    run: Path, proto: Path, folder: str
) -> None:
    """Of values in scratch there can be a disk full."""
    left = run / folder / f"tables.json{suffix().rpartition('-')[0]}-4000001.tmp"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"values")
    again(run.parent)
    assert not left.exists()
    short(again(run.parent))
    assert touched(run).keys() == touched(proto).keys()
