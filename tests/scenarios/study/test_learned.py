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
from probe.by_layer.store import Store
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


def learned(root: Path, stream=None, **changes: Any):
    """Do the first job of a study; return its plan, scenario and store."""
    study = check_study({**RAW, **changes}, "learned")
    stream = stream or study.scenario.scenario(Location())
    plan = made_plan(study, stream)
    job = jobs_of(plan)[0]
    root.mkdir(exist_ok=True)
    store = Store(root, job.name, {})
    do(study, plan, job, stream, store)
    return plan, stream, store


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
    readouts = ("retrain", "linear", "ncm")
    probing = {**PLAIN, "readouts": dict.fromkeys(readouts, "last")}
    plan, stream, store = learned(tmp_path, probing=probing)
    network, T = build_network("mlp", (1, 8, 8), 10), len(stream.tasks)
    classes = tuple(task.classes for task in stream.tasks)
    network.load_state_dict(store.load_checkpoint(f"step-{T}").model)
    analysis = analyze(
        {T: network},
        stream.merged.train,
        stream.test,
        classes,
        ("hidden1", "hidden2"),
        readouts=Measure(readouts=readouts, steps=dict.fromkeys(readouts, "last")),
        recipe=plan.retraining,
    )
    for feature in ("hidden1", "hidden2"):
        for readout in readouts:
            [part] = [p for p in store.finished() if feature in p and _readout(p) == readout]
            here, there = store.read(part), analysis.evaluations[At(T, feature, readout, 0)]
            assert TaskCounts(tasks=classes, tables=here.counts["single"]).total == there.counts
            assert here.right["single"].right.sum() == there.right.right.sum()
            assert here.notes == there.notes


def _readout(part: str) -> str:
    return "retrain" if part.startswith("feature-") else part.split(".")[-1].partition("-")[0]


# Diaz-Rodriguez 2018, Table 1: MS and SSS of its five strategies, over ten tasks.
PUBLISHED = {
    "finetune": (1, 1),
    "cumulative": (1, 0.55),
    "ewc": (0.4, 1),
    "lwf": (1, 1),
    "si": (0.4, 1),
}


def test_the_published_costs_come_out_of_the_tables(tmp_path: Path) -> None:
    raw = {
        **RAW,
        "scenario": {"data": "digits", "classes_per_task": 1, "train_limit": 4, "test_limit": 2},
        "network": {"name": "mlp", "features": ["output"]},
        "training": {"epochs": 1, "batch_size": 8},
        "learners": {kind: {} for kind in PUBLISHED},
    }
    study = check_study(raw, "costs")
    stream = study.scenario.scenario(Location())
    plan = made_plan(study, stream)
    for job in jobs_of(plan):
        do(study, plan, job, stream, store_of(plan, tmp_path, job))
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
