"""Processes that are killed -9: the kernel frees their lock, and whoever comes next goes on."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from probe.errors import NotWritten
from scenarios.commands.progress import show_progress
from scenarios.execution.locks import is_locked
from tests.scenarios.execution.helpers import (
    TINY,
    child,
    exit_code,
    fork,
    results,
    run,
    tables,
    until,
)
from tests.slow.helpers import command, contents, holders, killed_at, killed_run, tmpfs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    [
        *("study.json", "fingerprint.json", "step-2.json", "step-3.pt", "step-3.checkpoint.json"),
        *("feature-hidden1.json", "rows.csv", "summary.csv", "depth.png"),
    ],
)
def test_killed_as_it_replaces_a_file(tmp_path: Path, finished: Path, name: str) -> None:
    """What was finished is not done again, and nothing of what was not is left."""
    out = tmp_path / "run"
    drawing = name == "depth.png"
    with pytest.MonkeyPatch.context() as patch:
        if drawing:
            from scenarios.commands.run import build

            patch.setattr("tests.scenarios.execution.helpers.draw", build)
        killed_run(name, lambda: run(out))
        assert list(out.rglob("*.tmp"))
        before = results(out)
        assert run(out)
    assert results(out).items() >= before.items()
    assert tables(out) == tables(finished)
    assert not list(out.rglob("*.tmp"))
    assert not (out / "quarantine").exists()


def test_the_other_takes_over_at_once(tmp_path: Path, finished: Path) -> None:
    """It waits for its job, and nothing is done again."""
    out = tmp_path / "run"
    with child(lambda: exit_code(killed_at("step-3.pt", lambda: run(out), signal.SIGSTOP))):
        until(lambda: list(out.glob("jobs/finetune*/*/step-3.pt.*.tmp")))
        [job] = [path for path in (out / "jobs").iterdir() if is_locked(path)]
        other = fork(lambda: run(out))
        until(lambda: len(list(out.glob("jobs/*/*/step-5.json"))) == 4)
        before = results(out)
        time.sleep(0.5)
        assert is_locked(job)
        [stopped] = holders(out)
        start = time.monotonic()
        os.kill(stopped, signal.SIGKILL)
        assert exit_code(other) == 0
    assert time.monotonic() - start < 20
    assert tables(out) == tables(finished)
    assert results(out).items() > before.items()


@pytest.mark.parametrize("rerun", ["1/2", "2/2", None])
def test_a_shard_is_killed(tmp_path: Path, finished: Path, rerun: str | None) -> None:
    """Its job is left in the middle; any shard that is started again ends the study."""
    out = tmp_path / "run"
    killed_run("step-3.json", lambda: run(out, shard="2/2"))
    assert list(out.glob("jobs/*/*/step-2.json"))
    assert run(out, shard=rerun)
    assert tables(out) == tables(finished)


def test_one_of_two_pools_is_killed_with_its_workers(tmp_path: Path, finished: Path) -> None:
    """As typed, with figures, and at work on one run directory."""
    out = tmp_path / "run"
    flags = ["--executor", "pool", "--workers", "2"]
    with command(out, *flags) as one, command(out, *flags) as other:
        one.reaches(lambda: list(out.glob("jobs/*/*/step-2.json")))
        one.process.kill()
        one.is_gone_within(10)
        _, error = other.process.communicate(timeout=120)
        assert (other.process.returncode, error) == (0, "")
    assert tables(out) == tables(finished)
    assert (out / "figures" / "depth.png").exists()
    assert not list(out.rglob("*.tmp"))


@pytest.mark.parametrize("locks", [True, False])
def test_a_killed_run_is_copied_to_another_disk(
    tmp_path: Path, finished: Path, locks: bool
) -> None:
    killed_run("step-3.pt", lambda: run(tmp_path / "run"))
    ignored = shutil.ignore_patterns("lock")
    with tmpfs(tmp_path / "disk", "size=9m"):
        out = tmp_path / "disk" / "run"
        shutil.copytree(tmp_path / "run", out, ignore=None if locks else ignored)
        before = results(out)
        assert run(out)
        assert tables(out) == tables(finished)
        assert results(out).items() > before.items()
        assert contents(out).keys() == contents(finished).keys()


@pytest.mark.parametrize("executor", ["inline", "pool"])
def test_moved_away_while_it_runs(tmp_path: Path, executor: str) -> None:
    """It stops with a sentence, and makes no new directory where it was."""
    out = tmp_path / "run"
    flags = ["--epochs", "300", "--executor", executor, "--workers", "1"]
    with command(out, *flags, study=str(TINY)) as started:
        started.reaches(lambda: list(out.glob("jobs/*/*/step-0.json")))
        out.rename(tmp_path / "moved")
        _, error = started.process.communicate(timeout=60)
    assert started.process.returncode == 2
    assert error.startswith(f"error: cannot write {out}")
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_run_that_was_moved_goes_on_where_it_is(tmp_path: Path, finished: Path) -> None:
    out, moved = tmp_path / "run", tmp_path / "another" / "name"
    killed_run("step-4.json", lambda: run(out))
    moved.parent.mkdir()
    out.rename(moved)
    before = results(moved)
    assert run(moved)
    assert tables(moved) == tables(finished)
    assert results(moved).items() > before.items()
    assert not out.exists()


def test_moved_away_right_before_the_tables(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, moved = tmp_path / "run", tmp_path / "moved"

    def move(*arguments: object) -> object:
        ends = show_progress(*arguments)  # type: ignore[arg-type]
        out.rename(moved)
        return ends

    with monkeypatch.context() as patch:
        patch.setattr("scenarios.commands.run.show_progress", move)
        with pytest.raises(NotWritten, match="was its folder moved or removed"):
            run(out)
    assert not out.exists()
    before = results(moved)
    assert run(moved)
    assert tables(moved) == tables(finished)
    assert results(moved) == before
