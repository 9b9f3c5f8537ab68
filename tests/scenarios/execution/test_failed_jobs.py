"""A study of which a job fails: the rest goes on, exit code 1, and the list at the end."""

from __future__ import annotations

import csv
import functools
import subprocess
import sys
from pathlib import Path

import pytest

from figures.build import build
from probe.errors import NotWritten
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides
from tests.scenarios.execution.quick import TOML, Ill, tables

SICK = "finetune.order-back.seed-0"
LACKING = (
    "the tables are made of what was finished: means are over fewer orders or seeds, or missing"
)
DIVERGING = TOML.replace(
    "[learners.er]", "[learners.er.training]\nlearning_rate = 1e30\n[learners.er]"
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "quick.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def run(study: Path, out: Path) -> bool:
    options = Options(out=out, choice=Choice(executor="inline"))
    with pytest.MonkeyPatch.context() as patch:
        # Figures take longer than the study.
        patch.setattr("scenarios.commands.run.build", lambda root: [])
        return run_study(str(study), Overrides(), options)


def rows(root: Path, learner: str) -> list[dict[str, str]]:
    with (root / "rows.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["learner"] == learner]


def test_a_job_that_diverges(
    tmp_path: Path, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others' rows are those of a study in which nothing diverges, also when tried again."""
    diverging, out = tmp_path / "diverging.toml", tmp_path / "run"
    diverging.write_text(DIVERGING, encoding="utf-8")
    command = [sys.executable, "-m", "scenarios", "run", str(diverging), "--out", str(out)]
    done = subprocess.run(
        [*command, "--executor", "inline"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    *_, title, first, second, last = done.stdout.splitlines()
    assert title == "2 jobs failed; run the same command again to try again:"
    for line, order in ((first, "there"), (second, "back")):
        assert line.startswith(f"  er.order-{order}.seed-0: learner er, order {order}, seed 0")
        assert "(1 of 5): training diverged" in line
    assert last == LACKING
    assert (out / "figures" / "depth.png").exists()
    assert not run(diverging, out)
    assert capsys.readouterr().out.splitlines()[-4:] == [title, first, second, last]
    assert run(study, tmp_path / "well")
    for learner in ("finetune", "offline"):
        assert rows(out, learner) == rows(tmp_path / "well", learner) != []
    # Before any training there was something to measure.
    assert {row["step"] for row in rows(out, "er")} == {"0"}


def test_an_error_is_kept_until_the_job_is_done(
    tmp_path: Path,
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        ill = functools.partial(Ill, job=SICK, how="error")
        patch.setattr("scenarios.commands.run.Work", ill)
        assert not run(study, out)
    trace = out / "failures" / f"{SICK}.txt"
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4:] == [
        "1 job failed; run the same command again to try again:",
        f"  {SICK}: KeyError: 'nobody foresaw this'",
        f"    {trace}",
        LACKING,
    ]
    assert trace.read_text().startswith("Traceback (most recent call last):")
    assert "in end_badly" in trace.read_text()
    assert run(study, out)
    assert not trace.parent.exists()
    assert "failed" not in capsys.readouterr().out
    assert run(study, tmp_path / "well")
    assert tables(out) == tables(tmp_path / "well")


def test_what_cannot_be_written_ends_the_study(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ill = functools.partial(Ill, job=SICK, how="unwritten")
    monkeypatch.setattr("scenarios.commands.run.Work", ill)
    with pytest.raises(NotWritten, match="No space left on device"):
        run(study, tmp_path / "run")
    assert not (tmp_path / "run" / "rows.csv").exists()


def test_figures_of_what_is_there(tmp_path: Path) -> None:
    """Of a study in which everything fails what was measured before any training is drawn."""
    failing = tmp_path / "failing.toml"
    text = TOML.replace("[training]", "[training]\nlearning_rate = 1e30")
    failing.write_text(text, encoding="utf-8")
    assert not run(failing, tmp_path / "run")
    drawn = {path.stem for path in build(tmp_path / "run")}
    assert drawn == {"curves", "matrix", "tasks"}


def test_figures_of_half_a_learner(tmp_path: Path, study: Path) -> None:
    """One order of two is missing, and of that only the first steps are there."""
    with pytest.MonkeyPatch.context() as patch:
        ill = functools.partial(Ill, job=SICK, how="error")
        patch.setattr("scenarios.commands.run.Work", ill)
        assert not run(study, tmp_path / "run")
    assert {
        row["step"] for row in rows(tmp_path / "run", "finetune") if row["order"] == "back"
    } == {
        "0",
        "1",
    }
    assert {"depth", "matrix", "curves", "omegas"} <= {
        path.stem for path in build(tmp_path / "run")
    }
