"""`probe status`: what is being done now, what can be trusted, and not a byte is written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from probe.errors import InputError
from probe.results.run_directory import describe
from scenarios.commands.status import show_status
from scenarios.execution.work import carried_out
from tests.scenarios.execution.helpers import FIRST, SICK, jobs_in, locked, work_of

OFFLINE = "offline.seed-0"
LEARNERS: dict[str, dict[str, object]] = {"finetune": {}, "offline": {}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run directory of a study of which one job of three is finished."""
    work = work_of(tmp_path / "run", learners=LEARNERS)
    describe(work.root, work.setup)
    carried_out(work, jobs_in(work)[0])
    return work.root


def said(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, list[int]], list[str]]:
    """Return the table, by learner, and the lines below it but the first, the time left.

    Of a learner: its jobs, those finished, running, failed and left, its finished parts, and all.
    """
    capsys.readouterr()
    show_status(root)
    lines = capsys.readouterr().out.splitlines()
    end = next(k for k, line in enumerate(lines) if line.startswith("└"))
    rows = [line.strip("│ ").split("│") for line in lines[:end] if line.startswith("│")]
    table = {cells[0].strip(): [int(cell) for cell in cells[1:]] for cells in rows}
    time_left, *below = [line for line in lines[end + 1 :] if line]
    assert time_left.startswith("time left: about ")
    return table, below


def everything(root: Path) -> dict[Path, tuple[int, int, int, int]]:
    states = {path: path.lstat() for path in (root, *root.rglob("*"))}
    return {p: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in states.items()}


def test_how_far_it_is_and_what_is_being_done(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offline = [1, 0, 0, 0, 1, 0, 2]
    with locked(root / "jobs" / SICK):
        before = everything(root)
        table, lines = said(root, capsys)
        assert everything(root) == before
    assert table == {"finetune": [2, 1, 1, 0, 0, 8, 16], "offline": offline}
    assert lines == [f"{SICK} is being done by another process"]
    assert said(root, capsys) == ({"finetune": [2, 1, 0, 0, 1, 8, 16], "offline": offline}, [])


def test_a_job_that_failed_is_told_of_until_it_is_tried_again(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "failures").mkdir()
    (root / "failures" / f"{SICK}.txt").write_text("Traceback (most\n  ...\nKeyError: 'x'\n")
    # Of a job that was finished since then, by a process that was killed before it could say so.
    (root / "failures" / f"{FIRST}.txt").write_text("training diverged")
    table, lines = said(root, capsys)
    assert (table["finetune"], lines) == (
        [2, 1, 0, 1, 0, 8, 16],
        [f"{SICK} failed: KeyError: 'x'"],
    )
    with locked(root / "jobs" / SICK):
        assert said(root, capsys)[0]["finetune"] == [2, 1, 1, 0, 0, 8, 16]


def test_the_same_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "failures").mkdir()
    (root / "failures" / f"{OFFLINE}.txt").write_text("training diverged")
    capsys.readouterr()
    with locked(root / "jobs" / SICK):
        show_status(root, as_json=True)
    found = json.loads(capsys.readouterr().out)
    seconds = found.pop("seconds_left")
    row = dict(zip(("jobs", "finished", "running", "failed", "left"), (2, 1, 1, 0, 0), strict=True))
    assert found == {
        "study": "tiny",
        "directory": str(root),
        "learners": [
            {"learner": "finetune", **row, "parts": 16, "parts_finished": 8},
            {
                "learner": "offline",
                **{"jobs": 1, "finished": 0, "running": 0, "failed": 1, "left": 0},
                **{"parts": 2, "parts_finished": 0},
            },
        ],
        "running": [SICK],
        "failed": [{"job": OFFLINE, "reason": "training diverged"}],
        "corrupt": [],
        "processes": 1,
        "remarks": [],
    }
    assert 0 < seconds < 600


def test_nothing_is_known_before_anything_is_finished(
    tmp_path: Path, probe: Callable[[str], tuple[int, str, str]]
) -> None:
    work = work_of(tmp_path / "run", learners=LEARNERS)
    describe(work.root, work.setup)
    code, out, err = probe(f"status {work.root}")
    last = "time left: unknown, as nothing is finished that it could be judged by"
    assert (code, out.splitlines()[-1], err) == (0, last, "")
    code, out, err = probe(f"status {work.root} --json")
    assert (code, json.loads(out)["seconds_left"], err) == (0, None, "")


def test_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = work_of(tmp_path / "run", learners={"offline": {}})
    describe(work.root, work.setup)
    for job in jobs_in(work):
        carried_out(work, job)
    capsys.readouterr()
    show_status(work.root)
    assert "time left" not in capsys.readouterr().out
    show_status(work.root, as_json=True)
    assert json.loads(capsys.readouterr().out)["seconds_left"] == 0


def test_only_what_can_be_trusted_counts(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [folder] = [path for path in (root / "jobs" / FIRST).iterdir() if path.is_dir()]
    (folder / "step-0.json").write_bytes((folder / "step-1.json").read_bytes())
    (folder / "step-2.json").write_bytes((folder / "step-2.json").read_bytes()[:-1])
    (folder / "step-77.json").write_bytes((folder / "step-1.json").read_bytes())
    before = everything(root)
    table, lines = said(root, capsys)
    assert table["finetune"] == [2, 0, 0, 0, 2, 6, 16]
    assert lines == [
        f"{FIRST}, {part}: a corrupt file; `probe run` sets it aside and computes it again"
        for part in ("step-0", "step-2")
    ]
    # It is left to who has the job's lock to set that aside.
    assert everything(root) == before


def test_where_nothing_may_be_written(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere: so what would write is made to fail, besides."""

    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("status writes")

    for name in ("replace", "rename", "unlink", "link", "utime", "rmdir", "symlink"):
        monkeypatch.setattr(os, name, refuse)
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o555)
        for file in files:
            os.chmod(Path(folder, file), 0o444)
    table, lines = said(root, capsys)
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o755)
    assert (table["finetune"], lines) == ([2, 1, 0, 0, 1, 8, 16], [])


def test_no_run_directory(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="holds no study"):
            show_status(folder)
    assert list(tmp_path.iterdir()) == []
