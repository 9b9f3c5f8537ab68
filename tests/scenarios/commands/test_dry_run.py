"""`--dry-run`: the jobs that are left, and not a byte is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.scenarios.execution.helpers import TINY, run

Call = Callable[[str], tuple[int, str, str]]


def table(out: str) -> dict[str, list[str]]:
    """Return the table by learner: jobs, finished, left, parts left, training steps left."""
    return {name: cells for name, *cells in map(str.split, filter(str.strip, out.splitlines()))}


def test_nothing_is_written(probe: Call, cwd: Path) -> None:
    """A job of five tasks of 16 examples; two layers retrained on all 80, in batches of 64."""
    code, out, err = probe(f"run {TINY} --dry-run --workers 1 --learners finetune,er,fel")
    assert (code, err) == (0, "")
    assert list(cwd.iterdir()) == []
    assert table(out)["finetune"] == table(out)["er"] == ["2", "0", "2", "16", "18"]
    assert table(out)["fel"][:3] + table(out)["fel"][4:] == ["2", "0", "2", "unknown"]
    assert "hidden1: " in out
    assert out.splitlines()[-1] == "a dry run: nothing was written"


def test_finished_jobs_are_counted(probe: Call, cwd: Path) -> None:
    assert run(cwd / "run", learners="finetune")
    before = {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")}
    code, out, err = probe(f"run {TINY} --dry-run --workers 2 --learners finetune,er --out run")
    assert (code, err) == (0, "")
    assert table(out)["finetune"] == ["2", "2", "0", "0", "0"]
    assert table(out)["er"][:3] == ["2", "0", "2"]
    assert {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")} == before
