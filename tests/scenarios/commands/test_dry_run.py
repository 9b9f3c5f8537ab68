"""`--dry-run`: the jobs that are left, and not a byte is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import TINY, run

Call = Callable[[str], tuple[int, str, str]]


def table(out: str) -> dict[str, list[int]]:
    """Return the table by learner: jobs, finished, left, parts left."""
    rows = [line.strip("│ ").split("│") for line in out.splitlines() if line.startswith("│")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_nothing_is_written(probe: Call, cwd: Path) -> None:
    code, out, err = probe(f"run {TINY} --dry-run --workers 1 --learners finetune,er,fel")
    assert (code, err) == (0, "")
    assert list(cwd.iterdir()) == []
    found = table(out)
    assert found["finetune"][:3] == found["er"][:3] == found["fel"][:3] == [2, 0, 2]
    assert "hidden1: " in out
    assert out.splitlines()[-1] == "a dry run: nothing was written"


def test_what_is_finished_is_counted(probe: Call, cwd: Path) -> None:
    assert run(cwd / "run", learners="finetune")
    before = {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")}
    code, out, err = probe(f"run {TINY} --dry-run --workers 2 --learners finetune,er --out run")
    assert (code, err) == (0, "")
    assert table(out)["finetune"] == [2, 2, 0, 0]
    assert table(out)["er"][:3] == [2, 0, 2]
    assert {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")} == before


@pytest.mark.parametrize(
    ("flags", "said"),
    [("--seeds 0", "seeds: expected 1 or more"), ("--out thesis", "thesis is not empty")],
)
def test_a_mistake_is_one_sentence(probe: Call, cwd: Path, flags: str, said: str) -> None:
    (cwd / "thesis").mkdir()
    (cwd / "thesis" / "chapter.tex").touch()
    code, out, err = probe(f"run {TINY} --dry-run {flags}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
