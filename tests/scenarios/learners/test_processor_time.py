"""How long a task took, on a CPU: the learner's processor time, not that of the clock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from probe.by_layer.jobs import jobs_of
from probe.by_layer.store import Store
from probe.examples import Examples
from probe.tasks import Task
from probe.training.costs import OpsMeter
from scenarios.data.datasets import Location
from scenarios.learners.base import Learner
from scenarios.study import job
from scenarios.study.source import check_study

RAW = {
    "name": "slow",
    "scenario": {"data": "digits", "classes_per_task": 5, "train_limit": 2, "test_limit": 2},
    "network": {"name": "mlp", "features": ["output"]},
    "learners": {"finetune": {}},
    "orders": "none",
}
USED = {"processor": 0.0}


class Busy(Learner):
    """Learns nothing, with three seconds' work of the processor."""

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        USED["processor"] += 3


def test_a_tasks_seconds_are_those_of_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LEARNERS", {"finetune": Busy})
    monkeypatch.setattr(time, "process_time", lambda: USED["processor"])
    study = check_study(RAW, "slow")
    (one,) = jobs_of(study, 2)
    store = Store(tmp_path, one.name, {})
    scenario = study.scenario.scenario(Location())
    assert list(job.run_job(study, one, scenario, store, torch.device("cpu")))
    assert [store.read(f"step-{k}").spent.seconds for k in (1, 2)] == [3, 3]
