"""Run directories that are read-only, were moved, or are moved away while they are used."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from figures.build import build
from probe.errors import NotWritten
from probe.values.scratch import MappedRows
from scenarios.commands.status import show_status
from tests.faults.small import (
    FLAGS,
    JOB,
    as_nobody,
    contents,
    copied,
    open_to_all,
    run,
    tables,
    tmpfs,
)


def lost(out: Path) -> Path:
    """Let a run directory lack a result, so that something is left to do."""
    (out / "jobs" / JOB / "feature-conv1.json").unlink()
    return out


def test_a_read_only_disk(
    tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finished study is shown; one that is not finished cannot go on; both can be looked at."""
    with tmpfs(tmp_path / "disk", "size=20m") as remount:
        whole = copied(finished, tmp_path / "disk" / "whole")
        part = lost(copied(finished, tmp_path / "disk" / "part"))
        stale = copied(finished, tmp_path / "disk" / "stale")
        (stale / "summary.csv").write_bytes((finished / "metrics.csv").read_bytes())
        damaged = copied(finished, tmp_path / "disk" / "damaged")
        (damaged / "jobs" / JOB / "step-2.json").write_bytes(b"spoiled")
        remount("ro")
        before = contents(tmp_path / "disk")
        capsys.readouterr()
        assert run(whole)
        out = capsys.readouterr().out
        assert f"{whole} cannot be written to" in "".join(out.split("\n"))
        assert "er " in out
        for unfinished in (part, damaged):
            with pytest.raises(NotWritten, match=r"\(Read-only file system\)"):
                run(unfinished)
        with pytest.raises(NotWritten, match="tables are not made of what is finished there"):
            run(stale)
        for each in (whole, part, damaged):
            show_status(each)
            with pytest.raises(NotWritten, match=r"figures \(Read-only file system\)"):
                build(each)
        assert contents(tmp_path / "disk") == before
        remount("rw")
        for each in (part, damaged):
            assert run(each)
            assert tables(each) == tables(finished)


@pytest.mark.parametrize("what", ["whole", "part"])
def test_a_folder_of_somebody_else(tmp_path: Path, finished: Path, what: str) -> None:
    """Who may only read it, and is not root."""
    out = copied(finished, tmp_path / "run")
    if what == "part":
        lost(out)
    open_to_all(tmp_path)
    for path in (out, *out.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = contents(out)
    said = as_nobody(lambda: run(out))
    if what == "whole":
        assert said == "True"
    else:
        assert said.startswith("NotWritten: cannot write")
        assert "Permission denied" in said
    assert as_nobody(lambda: show_status(out)) == "None"
    assert as_nobody(lambda: build(out)).startswith("NotWritten: cannot write to")
    assert contents(out) == before


def test_a_run_that_was_moved_goes_on_where_it_is(tmp_path: Path, finished: Path) -> None:
    out = copied(finished, tmp_path / "run")
    left = [*(out / "jobs" / JOB).glob("step-[45]*"), *(out / "jobs" / JOB).glob("feature-*")]
    for path in (*left, *out.glob("*.csv")):
        path.unlink()
    moved = tmp_path / "another" / "name"
    moved.parent.mkdir()
    out.rename(moved)
    before = {path: path.stat().st_mtime_ns for path in (moved / "jobs").rglob("*.*t*")}
    assert run(moved)
    assert tables(moved) == tables(finished)
    assert not out.exists()
    assert {path: path.stat().st_mtime_ns for path in before} == before


def killed_run(out: Path) -> None:
    """Run the study in a child that is killed as it writes a checkpoint, with its lock held."""
    child = os.fork()
    if child == 0:
        true = os.replace

        def deadly(source: Path, target: Path) -> None:
            if Path(target).name == "step-3.pt":
                os.kill(os.getpid(), signal.SIGKILL)
            true(source, target)

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.replace = deadly  # type: ignore[assignment]
        run(out)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


@pytest.mark.parametrize("locks", [True, False])
def test_a_killed_run_is_copied_to_another_disk(
    tmp_path: Path, finished: Path, locks: bool
) -> None:
    killed_run(tmp_path / "run")
    assert list((tmp_path / "run" / "locks").iterdir())
    assert list((tmp_path / "run").rglob("*.tmp"))
    with tmpfs(tmp_path / "disk", "size=9m"):
        out = tmp_path / "disk" / "run"
        shutil.copytree(
            tmp_path / "run", out, ignore=None if locks else shutil.ignore_patterns("locks")
        )
        done = {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*.json")}
        assert run(out)
        assert tables(out) == tables(finished)
        assert {path: path.stat().st_mtime_ns for path in done} == done
        assert contents(out).keys() == contents(finished).keys()


@pytest.mark.parametrize("executor", ["inline", "pool"])
def test_a_run_that_is_moved_away_while_it_runs(
    tmp_path: Path, finished: Path, executor: str
) -> None:
    """It stops with a sentence, and makes no new directory at the old place."""
    out, moved = tmp_path / "run", tmp_path / "moved"
    command = f"-m scenarios run digits {FLAGS} --executor {executor} --workers 1 --out {out}"
    command = command.replace("--epochs 1", "--epochs 60")
    with subprocess.Popen(
        [sys.executable, *shlex.split(command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while not list(out.glob("jobs/*/step-0.json")):
                assert process.poll() is None
                time.sleep(0.02)
            out.rename(moved)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 2
    assert err.startswith(f"error: cannot write {out}")
    assert err.count("\n") == 1
    assert not out.exists()


def test_values_make_no_new_directory(tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match="No such file or directory"):
        MappedRows(tmp_path / "gone" / "scratch", 2, 2, torch.float32)
    assert list(tmp_path.iterdir()) == []
