"""`probe status`: the jobs that run, failed and finished, and not a byte is written."""

import json

from probe.results.run_directory import describe
from scenarios.commands import status
from scenarios.execution.work import carried_out
from tests.scenarios.execution.helpers import SICK, jobs_in, locked, work_of

OFFLINE = "offline.seed-0"
LEARNERS = {"finetune": {}, "offline": {}}
COLUMNS = (
    "jobs",
    "finished",
    "running",
    "failed",
    "left",
    "measurements_finished",
    "measurements",
)


def everything(root):
    states = {path: path.lstat() for path in (root, *root.rglob("*"))}
    return {
        p: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
        for p, s in states.items()
    }


def test_finished_running_and_failed_jobs_in_text_and_json(tmp_path, probe):
    """Of three jobs one is finished, one is locked by another process, and one has failed."""
    work = work_of(tmp_path / "run", learners=LEARNERS)
    describe(work.root, work.plan)
    carried_out(work, jobs_in(work)[0])
    (work.root / "failures").mkdir()
    (work.root / "failures" / f"{OFFLINE}.txt").write_text("training diverged")
    with locked(work.root / "jobs" / SICK):
        before = everything(work.root)
        lines = probe("status run")[1].splitlines()
        shown = json.loads(probe("status run --json")[1])
        assert everything(work.root) == before
    _, _, _, rule, *rows = lines
    assert rule.strip(" ─") == ""
    end = next(k for k, line in enumerate(rows) if not line.strip())
    table = {name: [*map(int, cells)] for name, *cells in map(str.split, rows[:end])}
    assert table == {
        "finetune": [2, 1, 1, 0, 0, 8, 16],
        "offline": [1, 0, 0, 1, 0, 0, 2],
    }
    time_left, *below = filter(str.strip, rows[end:])
    assert time_left.startswith("time left: about ")
    reasons = (
        f"{SICK} is running in another process",
        f"{OFFLINE} failed: training diverged",
    )
    assert tuple(below) == reasons
    assert shown.pop("seconds_left") > 0
    learners = [
        {"learner": n, **dict(zip(COLUMNS, row, strict=True))}
        for n, row in table.items()
    ]
    assert shown == {
        **{
            "study": "tiny",
            "directory": "run",
            "learners": learners,
            "running": [SICK],
        },
        "failed": [{"job": OFFLINE, "reason": "training diverged"}],
        **{"corrupt": [], "processes": 1, "remarks": []},
    }


def test_the_time_left_is_that_of_all_processes_at_work(tmp_path, monkeypatch):
    monkeypatch.setattr(status, "seconds_left", lambda *arguments: arguments[-1])
    work = work_of(tmp_path / "run", learners=LEARNERS)
    describe(work.root, work.plan)
    with locked(work.root / "jobs" / SICK), locked(work.root / "jobs" / OFFLINE):
        assert status.status_of(work.root)["seconds_left"] == 2


def test_the_time_left_is_unknown_at_first_and_none_in_the_end(tmp_path, probe):
    work = work_of(tmp_path / "run", learners={"offline": {}})
    describe(work.root, work.plan)
    assert "time left: unknown" in probe("status run")[1]
    assert json.loads(probe("status run --json")[1])["seconds_left"] is None
    for job in jobs_in(work):
        carried_out(work, job)
    assert "time left" not in probe("status run")[1]
    assert json.loads(probe("status run --json")[1])["seconds_left"] == 0
