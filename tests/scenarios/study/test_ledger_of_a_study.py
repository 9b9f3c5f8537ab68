"""The ledger of a study: the published criteria from its tables, and costs that survive a kill."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from scenarios.study.identity import identify

from probe.training.costs import Cost
from scenarios.data.datasets import Location
from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.job import Job, jobs_of, run_job
from scenarios.study.source import check_study
from scenarios.study.spec import Study
from scenarios.study.store import Measurement, Store
from scenarios.study.tables import write_tables
from tests.scenarios.learners.tiny_learners import SMALL

CPU = torch.device("cpu")


def study_of(kinds: list[str], classes_per_task: int, **given: Any) -> tuple[Study, Scenario]:
    """Return a study without retraining, and its scenario."""
    raw = {
        "name": "ledger",
        "scenario": {"data": "digits", "classes_per_task": classes_per_task, "train_limit": 4},
        "network": {"name": "mlp", "features": ["output"]},
        "training": {"epochs": 1, "batch_size": 8},
        "learners": {kind: SMALL.get(kind, {}) for kind in kinds},
        "orders": "none",
        **given,
    }
    study = check_study(raw, "ledger")
    return study, study.scenario.scenario(Location())


def done(study: Study, job: Job, scenario: Scenario, store: Store) -> list[str]:
    return list(run_job(study, job, scenario, store, CPU))


def test_the_published_criteria_come_out_of_the_tables(tmp_path: Path) -> None:
    """Table 1 of Diaz-Rodriguez 2018: MS and SSS of its five strategies, over ten tasks."""
    published = {
        "finetune": (1, 1),
        "cumulative": (1, 0.55),
        "ewc": (0.4, 1),
        "lwf": (1, 1),
        "si": (0.4, 1),
    }
    study, scenario = study_of(list(published), classes_per_task=1)
    identity = identify(study, scenario, CPU)
    for job in jobs_of(study, 10):
        done(study, job, scenario, Store(tmp_path, identity.of(job)))
    write_tables(identity, tmp_path)
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = {(row["learner"], row["metric"]): row for row in csv.DictReader(file)}
    for kind, expected in published.items():
        got = [rows[kind, metric] for metric in ("ms", "sss")]
        assert tuple(round(float(row["mean"]), 4) for row in got) == expected, kind
        assert {row["head"] for row in got} == {""}
        assert 0 < float(rows[kind, "ce"]["mean"]) < 1
        assert 0 < float(rows[kind, "cl_score[W1]"]["mean"]) < 1
    spent = {kind: float(rows[kind, "ce"]["mean"]) for kind in published}
    assert min(spent, key=spent.__getitem__) == "cumulative"
    assert max(spent, key=spent.__getitem__) == "finetune"


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_costs_survive_a_kill_between_checkpoint_and_measurement(kind: str, tmp_path: Path) -> None:
    """And one before the checkpoint, where the task is learned again."""
    # Some must be told the task.
    study, scenario = study_of([kind], classes_per_task=5, report={"heads": ["multi"]})
    [job] = jobs_of(study, 2)
    whole, killed = (Store(made(tmp_path / name), "x") for name in ("whole", "killed"))
    steps = done(study, job, scenario, whole)
    expected = certain(whole, job, steps)
    for lost in (["step-2.json"], ["step-2.json", "step-2.checkpoint.json"]):
        done(study, job, scenario, killed)
        for name in lost:
            (killed.root / "jobs" / job.name / name).unlink()
        assert killed.read(job.name, "step-2") is None
        assert done(study, job, scenario, killed) == ["step-2"]
        assert certain(killed, job, steps) == expected
    costs = {part: cost is not None for part, (_, cost) in expected.items()}
    assert costs == {part: part != "step-0" for part in steps}


def test_seconds_are_kept_with_the_checkpoint_and_measured_anew_without(tmp_path: Path) -> None:
    study, scenario = study_of(["er"], classes_per_task=5)
    [job] = jobs_of(study, 2)
    store = Store(tmp_path, "x")
    done(study, job, scenario, store)
    files = {name: tmp_path / "jobs" / job.name / f"{name}.json" for name in ("step-1", "step-2")}
    first, second = (seconds(store, job, step) for step in files)
    assert min(first, second) > 0
    files["step-2"].unlink()
    done(study, job, scenario, store)
    assert (seconds(store, job, "step-1"), seconds(store, job, "step-2")) == (first, second)
    for lost in (files["step-2"], files["step-2"].with_name("step-2.checkpoint.json")):
        lost.unlink()
    done(study, job, scenario, store)
    assert seconds(store, job, "step-1") == first
    assert seconds(store, job, "step-2") not in (0, second)


def seconds(store: Store, job: Job, part: str) -> float:
    measured = store.read(job.name, part)
    assert measured is not None
    assert measured.spent is not None
    return measured.spent.seconds


def certain(store: Store, job: Job, parts: list[str]) -> dict[str, tuple[object, Cost | None]]:
    """Return what no two runs differ in: counts and costs, by part."""
    found = {}
    for part in parts:
        measured = store.read(job.name, part)
        assert measured is not None
        found[part] = (measured.counts, measured.spent.cost if measured.spent else None)
    return found


class Killed(BaseException):
    """What no one catches."""


@pytest.mark.parametrize("kind", ["cumulative", "er", "si"])
def test_costs_survive_a_kill_at_every_measurement(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every start measures one part and dies in the next, after its checkpoint was written."""
    study, scenario = study_of([kind], classes_per_task=2)
    [job] = jobs_of(study, 5)
    whole, killed = (Store(made(tmp_path / name), "x") for name in ("whole", "killed"))
    steps = done(study, job, scenario, whole)
    write = Store.write

    def deadly(victim: str) -> Callable[[Store, str, str, Measurement], None]:
        def write_or_die(self: Store, name: str, part: str, measured: Measurement) -> None:
            if part == victim:
                raise Killed
            write(self, name, part, measured)

        return write_or_die

    for part in steps[1:]:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "write", deadly(part))
            with pytest.raises(Killed):
                done(study, job, scenario, killed)
    assert done(study, job, scenario, killed) == ["step-5"]
    assert certain(killed, job, steps) == certain(whole, job, steps)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
