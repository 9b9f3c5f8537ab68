"""Networks of a study: tested in eval mode, with the published costs."""

from __future__ import annotations

import csv
from collections import OrderedDict
from pathlib import Path
from typing import Any, ClassVar

import pytest
from torch import Tensor, nn

from probe.by_layer.jobs import jobs_of
from probe.by_layer.plan import Plan
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from scenarios.data.datasets import Location
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


def learned(root: Path, **changes: Any) -> Plan:
    """Do the jobs of a study; return its plan."""
    study = check_study({**RAW, **changes}, "learned")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    for job in jobs_of(plan):
        do(study, plan, job, scenario, store_of(plan, root, job))
    return plan


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


# Diaz-Rodriguez 2018, Table 1: MS and SSS of its five strategies, over ten tasks.
PUBLISHED = {
    "finetune": (1, 1),
    "cumulative": (1, 0.55),
    "ewc": (0.4, 1),
    "lwf": (1, 1),
    "si": (0.4, 1),
}


def test_the_published_costs_come_out_of_the_tables(tmp_path: Path) -> None:
    plan = learned(
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
