"""`probe status`: the jobs that run, failed and finished, and not a byte is written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probe.results.run_directory import describe
from scenarios.commands.status import show_status
from scenarios.execution.work import carried_out
from tests.scenarios.execution.helpers import FIRST, SICK, jobs_in, locked, work_of

OFFLINE = "offline.seed-0"
LEARNERS: dict[str, dict[str, object]] = {"finetune": {}, "offline": {}}
COLUMNS = ("jobs", "finished", "running", "failed", "left", "measurements_finished", "measurements")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of a study of which one job of three is finished."""
    work = work_of(tmp_path_factory.mktemp("begun") / "run", learners=LEARNERS)
    describe(work.root, work.plan)
    carried_out(work, jobs_in(work)[0])
    # An hour each: no speed of a machine, and no copy, makes the time left unknown.
    for hour, path in enumerate(sorted((work.root / "jobs" / FIRST).glob("*/*.json"))):
        os.utime(path, (3600 * hour, 3600 * hour))
    return work.root


@pytest.fixture
def root(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "run"))


@pytest.fixture
def said(root: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[Any, list[str]]]:
    """Return the numbers of COLUMNS by learner, and the lines below the table and the time left."""

    def call() -> tuple[dict[str, list[int]], list[str]]:
        before = everything(root)
        capsys.readouterr()
        show_status(root)
        assert everything(root) == before
        lines = capsys.readouterr().out.splitlines()
        _, _, _, rule, *rows = lines
        assert rule.strip(" ─") == ""
        end = next(k for k, line in enumerate(rows) if not line.strip())
        table = {name: [*map(int, cells)] for name, *cells in map(str.split, rows[:end])}
        time_left, *below = [line for line in rows[end:] if line.strip()]
        assert time_left.startswith("time left: about ")
        return table, below

    return call


def everything(root: Path) -> dict[Path, tuple[int, int, int, int]]:
    states = {path: path.lstat() for path in (root, *root.rglob("*"))}
    return {p: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in states.items()}


def test_finished_running_and_failed_jobs_in_text_and_json(
    root: Path, said: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "failures").mkdir()
    (root / "failures" / f"{OFFLINE}.txt").write_text("training diverged")
    with locked(root / "jobs" / SICK):
        table, lines = said()
        show_status(root, as_json=True)
    assert table == {"finetune": [2, 1, 1, 0, 0, 8, 16], "offline": [1, 0, 0, 1, 0, 0, 2]}
    assert lines == [
        f"{SICK} is running in another process",
        f"{OFFLINE} failed: training diverged",
    ]
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("seconds_left") > 0
    assert shown == {
        "study": "tiny",
        "directory": str(root),
        "learners": [
            {"learner": learner, **dict(zip(COLUMNS, row, strict=True))}
            for learner, row in table.items()
        ],
        "running": [SICK],
        "failed": [{"job": OFFLINE, "reason": "training diverged"}],
        "corrupt": [],
        "processes": 1,
        "remarks": [],
    }


def test_the_time_left_is_unknown_at_first_and_none_in_the_end(
    tmp_path: Path, probe: Callable[[str], tuple[int, str, str]]
) -> None:
    work = work_of(tmp_path / "run", learners={"offline": {}})
    describe(work.root, work.plan)
    assert "time left: unknown" in probe("status run")[1]
    assert json.loads(probe("status run --json")[1])["seconds_left"] is None
    for job in jobs_in(work):
        carried_out(work, job)
    assert "time left" not in probe("status run")[1]
    assert json.loads(probe("status run --json")[1])["seconds_left"] == 0
