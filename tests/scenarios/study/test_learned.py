"""Networks of a study: tested in eval mode, read as `analyze` does, with the published costs."""

from __future__ import annotations

import csv
from collections import OrderedDict
from pathlib import Path
from typing import Any, ClassVar

import pytest
from torch import Tensor, nn

from probe import Measure, analyze
from probe.by_layer.jobs import jobs_of
from probe.metrics.task_counts import TaskCounts
from probe.results.evaluations import At
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from scenarios.data.datasets import Location
from scenarios.networks import build_network
from scenarios.study.source import check_study
from tests.scenarios.study.toy import do, made_plan
from tests.scenarios.tiny_run import PLAIN

RAW: dict[str, Any] = {
    "name": "learned",
    "scenario": {"data": "digits", "train_limit": 8},
    "network": {"name": "mlp"},
    "training": {"epochs": 1, "batch_size": 16},
    "learners": {"finetune": {}},
    "orders": "none",
    "probing": PLAIN,
}


def learned(root: Path, **changes: Any):
    """Do the jobs of a study; return its plan, scenario and the store of its first job."""
    study = check_study({**RAW, **changes}, "learned")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    stores = [store_of(plan, root, job) for job in jobs_of(plan)]
    for job, store in zip(jobs_of(plan), stores, strict=True):
        do(study, plan, job, scenario, store)
    return plan, scenario, stores[0]


class Watched(nn.Linear):
    """Notes in which mode each batch was seen."""

    seen: ClassVar[list[tuple[int, bool]]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((len(x), self.training))
        return super().forward(x)


def test_a_study_evaluates_in_eval_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def watched(name: str, x: Tensor, classes: int) -> nn.Module:
        return nn.Sequential(
            OrderedDict(hidden1=nn.Flatten(), hidden2=nn.ReLU(), output=Watched(64, classes))
        )

    monkeypatch.setattr("scenarios.study.learned.network_for", watched)
    Watched.seen.clear()
    learned(tmp_path)
    # No training batch holds more than 16 + 1 examples; the sample of 16 has no mode of its own.
    assert {training for n, training in Watched.seen if n > 17} == {False}
    assert sum(n for n, training in Watched.seen if not training) >= 6 * 360


def test_a_study_and_an_analysis_read_the_same(tmp_path: Path) -> None:
    last = dict.fromkeys(("retrain", "linear"), "last")
    plan, scenario, store = learned(tmp_path, probing={**PLAIN, "readouts": last})
    network, T = build_network("mlp", (1, 8, 8), 10), len(scenario.tasks)
    classes = tuple(task.classes for task in scenario.tasks)
    network.load_state_dict(store.load_checkpoint(f"step-{T}").model)
    analysis = analyze(
        {T: network},
        *(scenario.merged.train, scenario.test, classes, ("hidden1", "hidden2")),
        readouts=Measure(readouts=tuple(last), steps=last),
        recipe=plan.retraining,
    )
    parts = {"retrain": "feature-{}", "linear": f"row-{T}.{{}}.linear"}
    for feature in ("hidden1", "hidden2"):
        for readout, name in parts.items():
            [part] = [p for p in store.finished() if p.startswith(name.format(feature))]
            here, there = store.read(part), analysis.evaluations[At(T, feature, readout, 0)]
            assert TaskCounts(tasks=classes, tables=here.counts["single"]).total == there.counts
            assert here.right["single"].right.sum() == there.right.right.sum()


# Diaz-Rodriguez 2018, Table 1: MS and SSS of its five strategies, over ten tasks.
PUBLISHED = {
    "finetune": (1, 1),
    "cumulative": (1, 0.55),
    "ewc": (0.4, 1),
    "lwf": (1, 1),
    "si": (0.4, 1),
}


def test_the_published_costs_come_out_of_the_tables(tmp_path: Path) -> None:
    plan, *_ = learned(
        tmp_path,
        scenario={"data": "digits", "classes_per_task": 1, "train_limit": 4, "test_limit": 2},
        network={"name": "mlp", "features": ["output"]},
        training={"epochs": 1, "batch_size": 8},
        learners={kind: {} for kind in PUBLISHED},
    )
    write_tables(plan, tmp_path)
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = {(row["learner"], row["metric"]): row for row in csv.DictReader(file)}
    for kind, expected in PUBLISHED.items():
        got = [rows[kind, metric] for metric in ("ms", "sss")]
        assert tuple(round(float(row["mean"]), 4) for row in got) == expected, kind
        assert {row["head"] for row in got} == {""}
        assert 0 < float(rows[kind, "cl_score[W1]"]["mean"]) < 1
    spent = {kind: float(rows[kind, "ce"]["mean"]) for kind in PUBLISHED}
    assert 0 < min(spent.values()) <= max(spent.values()) < 1
    assert min(spent, key=spent.__getitem__) == "cumulative"
    assert max(spent, key=spent.__getitem__) == "finetune"
