"""A study of which a job fails: the rest goes on, and failures are listed at the end."""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import Any

import pytest

from figures.build import build
from scenarios.commands.figures import draw_asked
from scenarios.options import FigureOptions
from tests.scenarios.execution.helpers import SICK, TINY, Disturbed, run, tables

FLAGS: dict[str, Any] = {"learners": "finetune,offline"}


def rows(root: Path, learner: str) -> list[dict[str, str]]:
    with (root / "measurements.csv").open(newline="") as file:
        every = [row for row in csv.DictReader(file) if row["learner"] == learner]
    return [row for row in every if row["order"] in ("", "back")]


def let_it(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a job of every run end badly."""
    work = functools.partial(Disturbed, badly={SICK: f"{end} output after 2"})
    monkeypatch.setattr("scenarios.commands.run.Work", work)


def diverging(folder: Path) -> Path:
    """Write a study of which one learner of two diverges."""
    study = folder / "diverging.toml"
    text = TINY.read_text() + "[learners.er.training]\nlearning_rate = 1e30\n"
    study.write_text(text.replace("[learners.finetune]\n", ""), encoding="utf-8")
    return study


@pytest.mark.usefixtures("undrawn")
def test_jobs_that_diverge(tmp_path: Path, probe: Any) -> None:
    """The others' rows are those of a study in which nothing diverges, also when tried again."""
    study, out = diverging(tmp_path), tmp_path / "run"
    for _ in range(2):
        code, said, error = probe(f"run {study} --out {out} --executor inline")
        assert (code, error) == (1, "")
        *_, title, first, second, _ = said.splitlines()
        assert title == "2 jobs failed; run the same command again to try again:"
        for line, order in ((first, "there"), (second, "back")):
            assert line.startswith(f"  er.order-{order}.seed-0: learner er, order {order}, seed 0")
            assert "(1 of 5): the model's output is NaN" in line
    assert run(tmp_path / "well", learners="er,offline")
    assert rows(out, "offline") == rows(tmp_path / "well", "offline") != []
    # Before any training there was something to measure.
    assert {row["tasks_seen"] for row in rows(out, "er")} == {"0"}


def test_an_error_is_kept_until_the_job_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        let_it("error", patch)
        assert not run(out, **FLAGS)
    trace = out / "failures" / f"{SICK}.txt"
    *said, lacking = capsys.readouterr().out.splitlines()[-4:]
    assert said == [
        "1 job failed; run the same command again to try again:",
        f"  {SICK}: KeyError: 'nobody foresaw this'",
        f"    {trace}",
    ]
    assert lacking.startswith("the tables contain only finished jobs")
    assert trace.read_text().startswith("Traceback (most recent call last):")
    # One order of two is missing, and of that only the first steps are there.
    assert {row["tasks_seen"] for row in rows(out, "finetune")} == {"0", "1"}
    draw_asked(out, FigureOptions(only="depth,matrix,curves", format="png"))
    assert run(out, **FLAGS)
    assert not trace.parent.exists()
    assert "failed" not in capsys.readouterr().out
    assert run(tmp_path / "well", **FLAGS)
    assert tables(out) == tables(tmp_path / "well")


@pytest.mark.slow
def test_figures_of_first_evaluations_alone(tmp_path: Path) -> None:
    assert not run(tmp_path / "none", diverging(tmp_path), learners="er")
    assert {path.stem for path in build(tmp_path / "none")} == {"matrix"}
