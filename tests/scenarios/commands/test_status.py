"""`probe status`: what is being done now, what can be trusted, and not a byte is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probe.errors import InputError
from scenarios.commands.status import show_status
from scenarios.execution.work import carried_out
from scenarios.study.run_directory import describe
from tests.scenarios.execution.helpers import FIRST, SICK, jobs_in, locked, work_of

LEARNERS: dict[str, dict[str, object]] = {"finetune": {}, "offline": {}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run directory of a study of which one job of three is finished."""
    work = work_of(tmp_path / "run", learners=LEARNERS)
    describe(work.root, work.setup)
    carried_out(work, jobs_in(work)[0])
    return work.root


def said(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, list[int]], list[str]]:
    """Return the table, by learner, and the lines below it."""
    capsys.readouterr()
    show_status(root)
    lines = capsys.readouterr().out.splitlines()
    end = next(k for k, line in enumerate(lines) if line.startswith("└"))
    rows = [line.strip("│ ").split("│") for line in lines[:end] if line.startswith("│")]
    table = {cells[0].strip(): [int(cell) for cell in cells[1:]] for cells in rows}
    return table, [line for line in lines[end + 1 :] if line]


def everything(root: Path) -> dict[Path, tuple[int, int, int, int]]:
    states = {path: path.lstat() for path in (root, *root.rglob("*"))}
    return {p: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in states.items()}


def test_how_far_it_is_and_what_is_being_done(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {"finetune": [2, 8, 16], "offline": [1, 0, 2]}
    with locked(root / "jobs" / SICK):
        before = everything(root)
        table, lines = said(root, capsys)
        assert everything(root) == before
    assert (table, lines) == (expected, [f"{SICK} is being done by another process"])
    assert said(root, capsys) == (expected, [])


def test_only_what_can_be_trusted_counts(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [folder] = [path for path in (root / "jobs" / FIRST).iterdir() if path.is_dir()]
    (folder / "step-0.json").write_bytes((folder / "step-1.json").read_bytes())
    (folder / "step-2.json").write_bytes((folder / "step-2.json").read_bytes()[:-1])
    (folder / "step-77.json").write_bytes((folder / "step-1.json").read_bytes())
    before = everything(root)
    table, lines = said(root, capsys)
    assert table["finetune"] == [2, 6, 16]
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
    assert (table["finetune"], lines) == ([2, 8, 16], [])


def test_no_run_directory(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="holds no study"):
            show_status(folder)
    assert list(tmp_path.iterdir()) == []
