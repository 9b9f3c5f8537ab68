"""What has changed since a study was started, or since a process last ran: never used unseen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scenarios.execution.claims import Lost
from scenarios.execution.inline import Inline

from probe.tables.run_directory import TABLES
from scenarios.commands import run as module
from scenarios.commands.run import Options, run_study
from scenarios.data.datasets import Location
from scenarios.execution.choosing import Choice
from scenarios.execution.schedule import execute
from scenarios.execution.work import Ended
from scenarios.study.job import jobs_of
from scenarios.study.overrides import Overrides
from scenarios.study.tables import write_tables
from tests.scenarios.execution.quick import study_of, work_of

FEATURES = """
orders = "none"
[scenario]
data = "{file}"
[network]
name = "mlp"
[training]
epochs = 1
[learners.finetune]
"""


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "build", lambda root: [])


def made(file: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(40, 6)).astype(np.float32)
    y = np.arange(40) % 4
    np.savez(file, x_train=x, y_train=y, x_test=x, y_test=y)


def ran(folder: Path, out: str) -> dict[str, bytes]:
    study = folder / "features.toml"
    study.write_text(FEATURES.format(file=folder / "birds.npz"))
    options = Options(out=folder / out, choice=Choice(executor="inline"))
    assert run_study(str(study), Overrides(), options)
    return {name: (folder / out / name).read_bytes() for name in TABLES}


def test_a_file_of_the_same_name_with_other_data(tmp_path: Path) -> None:
    """In one process, which keeps the data that it has loaded."""
    made(tmp_path / "birds.npz", 0)
    first = ran(tmp_path, "first")
    made(tmp_path / "birds.npz", 1)
    assert ran(tmp_path, "second") != first
    made(tmp_path / "birds.npz", 0)
    assert ran(tmp_path, "third") == first


@pytest.mark.parametrize("same", [True, False])
def test_a_worker_that_finds_other_data(tmp_path: Path, same: bool) -> None:
    work = work_of(tmp_path / "run", study_of())
    if not same:
        work = replace(work, identity=replace(work.identity, data="0" * 64), location=Location())
    jobs = jobs_of(work.identity.study, len(work.identity.tasks))[:1]
    ends = [event for event in execute(work, jobs, Inline()) if isinstance(event, Ended)]
    assert [end.how for end in ends] == ["finished" if same else "failed"]
    assert ("not those that the study began with" in ends[0].reason) != same
    assert work.store(jobs[0]).finished(jobs[0].name) == (work.finished(jobs[0]) if same else set())


def test_who_has_lost_the_lock_replaces_no_table(tmp_path: Path) -> None:
    def lost() -> None:
        raise Lost

    work = work_of(tmp_path / "run", study_of())
    for name in TABLES:
        (work.root / name).write_text("by who took over")
    with pytest.raises(Lost):
        write_tables(work.identity, work.root, lost)
    assert {(work.root / name).read_text() for name in TABLES} == {"by who took over"}
    assert not list(work.root.glob("*.tmp"))
    write_tables(work.identity, work.root)
    assert "by who took over" not in {(work.root / name).read_text() for name in TABLES}


def test_who_has_lost_the_lock_reads_the_results_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "birds.npz", 0)
    write, calls = module.write_tables, []

    def lose_first(*arguments: object) -> bool:
        calls.append(arguments)
        if len(calls) == 1:
            raise Lost
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "write_tables", lose_first)
    assert ran(tmp_path, "run")
    assert len(calls) == 2
