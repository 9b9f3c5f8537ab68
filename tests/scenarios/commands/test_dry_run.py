"""`--dry-run`: the jobs, the training steps and the memory, and not a byte is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from torch.optim.optimizer import register_optimizer_step_post_hook

from tests.scenarios.execution.helpers import TINY, run

Call = Callable[[str], tuple[int, str, str]]


def time_of(out: str) -> str:
    """Return the line that says how long it takes."""
    line, last = out.splitlines()[-2:]
    assert last == "a dry run: nothing was written"
    return line


def table(out: str) -> dict[str, list[str]]:
    """Return the table by learner: jobs, finished, left, parts left, training steps left."""
    rows = [line.strip("│ ").split("│") for line in out.splitlines() if line.startswith("│")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_nothing_is_written(probe: Call, cwd: Path) -> None:
    code, out, err = probe(f"run {TINY} --dry-run --workers 1 --learners finetune,fel")
    assert (code, err) == (0, "")
    assert list(cwd.iterdir()) == []
    assert table(out)["finetune"] == ["2", "0", "2", "16", "18"]
    assert table(out)["fel"][-1] == "unknown"
    assert re.search(r"hidden1: .*, in memory", out)
    assert time_of(out).startswith("time: unknown: ")


def test_finished_parts_are_counted_and_their_time_taken(probe: Call, cwd: Path) -> None:
    assert run(cwd / "run", learners="finetune")
    before = {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")}
    code, out, err = probe(f"run {TINY} --dry-run --workers 2 --learners finetune,er --out run")
    assert (code, err) == (0, "")
    assert table(out)["finetune"] == ["2", "2", "0", "0", "0"]
    assert table(out)["er"][:3] == ["2", "0", "2"]
    assert re.fullmatch(r"time: about \d+ s at 2 jobs in parallel \(an estimate\)", time_of(out))
    assert {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")} == before
    code, out, _ = probe(f"run {TINY} --dry-run --workers 2 --learners finetune --out run")
    assert (code, time_of(out)) == (0, "time: none, as all is finished")


def test_training_steps_are_those_of_the_run(probe: Call, cwd: Path) -> None:
    flags = "--learners finetune,offline,cumulative --epochs 3 --budget 1,2"
    (cwd / "study.toml").write_text(f"{TINY.read_text()}[learners.cumulative]\n")
    _, out, _ = probe(f"run study.toml {flags} --dry-run")
    taken: list[object] = []
    hook = register_optimizer_step_post_hook(lambda *_: taken.append(None))
    code, *_ = probe(f"run study.toml {flags} --executor inline")
    hook.remove()
    assert code == 0
    assert sum(int(cells[-1]) for cells in table(out).values()) == len(taken) > 100


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--seeds 0", "seeds: expected 1 or more"),
        ("--learners fintune", "unknown learner 'fintune'"),
        ("--out thesis", "thesis is not empty and holds no study"),
        ("--workers 0", "--workers must be 1 or more"),
    ],
)
def test_a_mistake_is_one_sentence(probe: Call, cwd: Path, flags: str, said: str) -> None:
    (cwd / "thesis").mkdir()
    (cwd / "thesis" / "chapter.tex").touch()
    code, out, err = probe(f"run {TINY} --dry-run {flags}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
