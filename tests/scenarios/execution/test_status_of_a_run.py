"""`probe status`: who does what now, what can be trusted, and not a byte is written."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from scenarios.execution.claims import Claims
from tests.scenarios.study.toy_identity import identity, study

from probe.errors import InputError
from scenarios.commands.status import show_status
from scenarios.study.job import jobs_of
from scenarios.study.store import Measurement, Store
from tests.scenarios.execution.forked import a_dead_process, child, lock_of, until
from tests.scenarios.study.toy_study import counts

WHOLE = identity(study(None, "orders", "none"))
JOBS = jobs_of(WHOLE.study, len(WHOLE.tasks))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run directory in which both jobs have two parts of six."""
    root = tmp_path / "run"
    WHOLE.claim(root)
    for job in JOBS:
        for part in ("step-0", "step-1"):
            heads = dict.fromkeys(("single", "multi", "all"), (counts(2, 4),))
            measured = Measurement(counts=heads)
            Store(root, WHOLE.of(job)).write(job.name, part, measured)
    return root


def said(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, list[int]], list[str]]:
    """Return the table, by learner, and the lines below it."""
    show_status(root)
    lines = capsys.readouterr().out.splitlines()
    end = next(k for k, line in enumerate(lines) if line.startswith("└"))
    rows = [line.strip("│ ").split("│") for line in lines[:end] if line.startswith("│")]
    table = {cells[0].strip(): [int(cell) for cell in cells[1:]] for cells in rows}
    return table, [line for line in lines[end + 1 :] if line]


def everything(root: Path) -> dict[Path, tuple[int, int, int, int]]:
    states = {path: path.lstat() for path in (root, *root.rglob("*"))}
    return {p: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in states.items()}


def test_who_is_at_work(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finetune, er = (job.name for job in JOBS)
    claims = Claims(root / "locks")

    def hold() -> None:
        with claims.held(finetune):
            time.sleep(60)

    lock_of(root / "locks", er, 17, where="far away")
    lock_of(root / "locks", "tables", a_dead_process())
    with claims.held("free"):
        pass
    with child(hold) as process:
        until(lambda: claims.seen(finetune))
        before = everything(root)
        _, lines = said(root, capsys)
        assert everything(root) == before
        assert lines == [
            f"{er} is being done by process 17 on there",
            f"{finetune} is being done by process {process} on {os.uname().nodename}",
        ]
    _, lines = said(root, capsys)
    assert lines == [f"{er} is being done by process 17 on there"]


def test_only_what_can_be_trusted_counts(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, lines = said(root, capsys)
    parts = table["er"][2]
    assert table == {"er": [1, 2, parts], "finetune": [1, 2, parts]}
    assert lines == []
    finetune, er = (root / "jobs" / job.name for job in JOBS)
    damaged = bytearray((er / "step-0.json").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (er / "step-0.json").write_bytes(damaged)
    (er / "step-1.json").write_bytes((finetune / "step-1.json").read_bytes())
    (finetune / "step-77.json").write_bytes((finetune / "step-1.json").read_bytes())
    before = everything(root)
    table, lines = said(root, capsys)
    assert table == {"er": [1, 0, parts], "finetune": [1, 2, parts]}
    assert [line.partition(" be ")[0] for line in lines] == [
        f"{er.name}, {part}: cannot" for part in ("step-0", "step-1")
    ]
    # It is left to who has the job's lock to set that aside.
    assert everything(root) == before
    assert not (root / "quarantine").exists()


def test_a_directory_that_cannot_be_written_to(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere: so what would write is made to fail, besides."""

    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("status writes")

    for name in ("mkdir", "replace", "rename", "unlink", "link", "utime", "rmdir", "symlink"):
        monkeypatch.setattr(os, name, refuse)
    (root / "jobs" / JOBS[0].name / "step-0.json").write_bytes(b"{}")
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o555)
    table, lines = said(root, capsys)
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o755)
    assert table["finetune"][1] == 1
    assert len(lines) == 1


def test_no_run_directory(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="holds no study"):
            show_status(folder)
    assert list(tmp_path.iterdir()) == []
