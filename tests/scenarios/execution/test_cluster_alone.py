"""`probe run --executor ray` with a cluster of its own, killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from scenarios.execution.inline import Inline

from tests.scenarios.execution.quick import finish, holders, study_of, tables, until, work_of
from tests.scenarios.execution.typed import command

FLAGS = ["--executor", "ray", "--workers", "2"]


def test_killed_and_stopped_and_started_again(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with command(tmp_path, *FLAGS) as started:
        started.reaches(lambda: list(root.glob("jobs/*/step-2.json")))
        started.process.kill()
        # Not Ray's own helpers, which write nothing here: they may stay for a while.
        until(lambda: not holders(root), seconds=5)
        done = parts(root)
        time.sleep(1)
        assert parts(root) == done

    with command(tmp_path, *FLAGS) as started:
        started.reaches(lambda: len(parts(root)) > len(done) and holders(root))
        os.kill(holders(root)[0], signal.SIGKILL)
        before = len(parts(root))
        started.reaches(lambda: len(parts(root)) > before + 3)
        start = time.monotonic()
        started.process.terminate()
        said = started.process.communicate(timeout=10)
        assert time.monotonic() - start < 5
        assert started.process.returncode == 143
        assert said[1] == "stopped: run the same command again to go on\n"
        assert "ray" not in said[0]
        started.ends_within(5)
    assert parts(root).items() >= done.items()

    work, other = (work_of(tmp_path / name, study_of()) for name in ("run", "other"))
    assert finish(work, Inline())
    finish(other, Inline())
    assert tables(root) == tables(other.root)
    assert parts(root).items() >= done.items()


def parts(root: Path) -> dict[Path, tuple[int, int]]:
    """Return the finished parts, each with what changes when it is written anew."""
    stats = {path: path.stat() for path in root.glob("jobs/*/*.json")}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}
