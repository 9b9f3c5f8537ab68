"""`--dry-run`: the jobs, the memory and a measured time, and not a byte is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from scenarios.execution.rehearsal import Rehearsal, reckoned
from scenarios.execution.remaining import seconds_left
from probe.by_layer.jobs import parts_of
from tests.scenarios.execution.helpers import TINY, jobs_in, run, work_of

Call = Callable[[str], tuple[int, str, str]]


def time_of(out: str) -> str:
    """Return the line that says how long it takes."""
    line, last = out.splitlines()[-2:]
    assert last == "a dry run: nothing was written"
    return line


def table(out: str) -> dict[str, list[int]]:
    """Return the table by learner: jobs, finished, left, parts left."""
    rows = [line.strip("│ ").split("│") for line in out.splitlines() if line.startswith("│")]
    return {cells[0].strip(): [int(cell) for cell in cells[1:]] for cells in rows}


def test_nothing_is_written(probe: Call, cwd: Path) -> None:
    code, out, err = probe(f"run {TINY} --dry-run --workers 1 --learners finetune,er")
    assert (code, err) == (0, "")
    assert list(cwd.iterdir()) == []
    found = table(out)
    assert found["finetune"][:3] == found["er"][:3] == [2, 0, 2]
    assert re.search(r"hidden1: .*, in memory", out)
    last = time_of(out)
    assert re.fullmatch(
        r"time: about [\d.]+ (s|min) with 1 process, estimated by doing some jobs on a few "
        r"examples of each task",
        last,
    )


def test_what_is_finished_is_counted_and_its_time_taken(
    probe: Call, cwd: Path, tmp_path: Path
) -> None:
    assert run(cwd / "run", learners="finetune")
    before = {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")}
    code, out, err = probe(f"run {TINY} --dry-run --workers 2 --learners finetune,er --out run")
    assert (code, err) == (0, "")
    assert table(out)["finetune"] == [2, 2, 0, 0]
    assert table(out)["er"][:3] == [2, 0, 2]
    assert time_of(out).endswith("with 2 processes, estimated by what run holds already")
    assert {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")} == before
    code, out, _ = probe(f"run {TINY} --dry-run --workers 2 --learners finetune --out run")
    assert (code, time_of(out)) == (0, "time: none, as all is finished")


def test_networks_of_learners_own_are_named_and_left_out(probe: Call, cwd: Path) -> None:
    code, out, _ = probe(f"run {TINY} --dry-run --workers 1 --learners finetune,fel")
    assert code == 0
    assert time_of(out).endswith(", besides fel, with a training of its own")
    code, out, _ = probe("run digits --dry-run --workers 1 --learners fel")
    assert (code, time_of(out).split(",")[0]) == (0, "time: unknown")
    assert list(cwd.iterdir()) == []


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


def rehearsed(tmp_path: Path, name: str, **changes: object) -> float:
    """Return how many seconds a study takes by one process, by a rehearsal."""
    work = work_of(tmp_path / name, **changes)
    study = work.setup.study
    scenario = study.scenario.scenario(work.location)
    end = float("inf")
    made = Rehearsal(study=study, scenario=scenario, device=torch.device("cpu"), end=end)
    left = {job: parts_of(study, job) for job in jobs_in(work)}
    seconds = seconds_left(left, made.pace())
    assert seconds is not None
    return seconds


def test_many_epochs_take_longer_and_so_do_more_jobs(tmp_path: Path) -> None:
    """By factors that no busy machine hides: ten thousand times the epochs, ten times the jobs."""
    learners = {"learners": {"finetune": {}}}
    little = rehearsed(tmp_path, "a", training={"epochs": 1}, **learners)
    assert rehearsed(tmp_path, "b", training={"epochs": 10_000}, **learners) > 4 * little
    assert rehearsed(tmp_path, "c", training={"epochs": 1}, seeds=10, **learners) > 3 * little


def test_what_grows_with_examples_and_epochs_is_told_apart() -> None:
    """Exactly, where nothing else takes time: seconds = a + n (b + c E)."""

    def seconds(n: float, epochs: int) -> float:
        return 5 + n * (0.25 + 0.5 * epochs)

    runs = [(16, seconds(16, 1)), (64, seconds(64, 1)), (64, seconds(64, 3))]
    for examples, epochs in ((64, 1), (1000, 1), (64, 7), (1000, 7)):
        assert reckoned(runs, examples, epochs) == pytest.approx(seconds(examples, epochs))


def test_every_part_of_every_job_has_a_time(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run", learners={"finetune": {}, "ewc": {}, "offline": {}})
    study = work.setup.study
    scenario = study.scenario.scenario(work.location)
    made = Rehearsal(study=study, scenario=scenario, device=torch.device("cpu"), end=float("inf"))
    pace = made.pace()
    for job in jobs_in(work):
        assert all(pace.seconds(job, part) is not None for part in parts_of(study, job))
