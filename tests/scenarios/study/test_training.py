"""The published costs, from the learners of a study to its tables."""

from __future__ import annotations

import csv
from pathlib import Path

from probe.by_layer.jobs import jobs_of
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from scenarios.data.datasets import Location
from scenarios.study.study_file import check_study
from tests.scenarios.study.toy import do, made_plan
from tests.scenarios.tiny_run import PLAIN

# Diaz-Rodriguez 2018, Table 1: MS and SSS of its five strategies, over ten tasks.
PUBLISHED = {
    "finetune": (1, 1),
    "cumulative": (1, 0.55),
    "ewc": (0.4, 1),
    "lwf": (1, 1),
    "si": (0.4, 1),
}


RAW = {
    "name": "learned",
    "scenario": {"data": "digits", "classes_per_task": 1, "train_limit": 4, "test_limit": 2},
    "network": {"name": "mlp", "features": ["output"]},
    "training": {"epochs": 1, "batch_size": 8},
    "learners": {kind: {} for kind in PUBLISHED},
    "orders": "none",
    "probing": PLAIN,
}


def test_the_published_costs_come_out_of_the_tables(tmp_path: Path) -> None:
    study = check_study(RAW, "learned")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    for job in jobs_of(plan):
        do(study, plan, job, scenario, store_of(plan, tmp_path, job))
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
