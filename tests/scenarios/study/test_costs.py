"""What learners cost, from a study's tables: the published numbers of Diaz-Rodriguez 2018."""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from scenarios.study.job import run_job

from probe.by_layer.fingerprint import setup_of
from probe.by_layer.jobs import jobs_of
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from scenarios.data.datasets import Location
from scenarios.study.source import check_study

# Table 1: MS and SSS of its five strategies, over ten tasks.
PUBLISHED = {
    "finetune": (1, 1),
    "cumulative": (1, 0.55),
    "ewc": (0.4, 1),
    "lwf": (1, 1),
    "si": (0.4, 1),
}
CPU = torch.device("cpu")


def test_the_published_criteria_come_out_of_the_tables(tmp_path: Path) -> None:
    raw = {
        "name": "costs",
        "scenario": {"data": "digits", "classes_per_task": 1, "train_limit": 4, "test_limit": 2},
        "network": {"name": "mlp", "features": ["output"]},
        "training": {"epochs": 1, "batch_size": 8},
        "learners": {kind: {} for kind in PUBLISHED},
        "orders": "none",
    }
    study = check_study(raw, "costs")
    scenario = study.scenario.scenario(Location())
    setup = setup_of(study, scenario, CPU)
    for job in jobs_of(study, 10):
        list(run_job(study, job, scenario, store_of(setup, tmp_path, job), CPU))
    write_tables(setup, tmp_path)
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = {(row["learner"], row["metric"]): row for row in csv.DictReader(file)}
    for kind, expected in PUBLISHED.items():
        got = [rows[kind, metric] for metric in ("ms", "sss")]
        assert tuple(round(float(row["mean"]), 4) for row in got) == expected, kind
        assert {row["head"] for row in got} == {""}
        assert 0 < float(rows[kind, "ce"]["mean"]) < 1
        assert 0 < float(rows[kind, "cl_score[W1]"]["mean"]) < 1
    spent = {kind: float(rows[kind, "ce"]["mean"]) for kind in PUBLISHED}
    assert min(spent, key=spent.__getitem__) == "cumulative"
    assert max(spent, key=spent.__getitem__) == "finetune"
