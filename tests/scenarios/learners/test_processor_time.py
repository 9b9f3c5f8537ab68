"""How long a task took, on a CPU: the learner's processor time, not that of the clock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.training.costs import OpsMeter, one_pass_ops
from scenarios.data.datasets import Location
from scenarios.learners.base import Learner
from probe.tasks import Task
from scenarios.study import job
from probe.by_layer.jobs import jobs_of
from probe.by_layer.store import Store
from scenarios.study.source import check_study

RAW = {
    "name": "slow",
    "scenario": {"data": "digits", "classes_per_task": 5, "train_limit": 2, "test_limit": 2},
    "network": {"name": "mlp", "features": ["output"]},
    "learners": {"finetune": {}},
    "orders": "none",
}


class Sleeping(Learner):
    """Learns nothing, and sleeps 0.3 s over it."""

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        time.sleep(0.3)


class Busy(Learner):
    """Learns nothing, with 0.3 s of work."""

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass


@pytest.mark.parametrize(("kind", "works"), [(Sleeping, False), (Busy, True)])
def test_sleep_takes_no_time_and_work_does(
    kind: type[Learner], works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LEARNERS", {"finetune": kind})
    study = check_study(RAW, "slow")
    scenario = study.scenario.scenario(Location())
    (one,) = jobs_of(study, 2)
    store = Store(tmp_path, one.name, {})
    # The first count of operations in a process imports for a second, and is not the learner's.
    one_pass_ops(nn.Linear(1, 1), Examples(torch.zeros(1, 1), torch.zeros(1, dtype=torch.int64)), 1)
    start = time.perf_counter()
    assert list(job.run_job(study, one, scenario, store, torch.device("cpu")))
    assert time.perf_counter() - start >= 0.6
    for step in ("step-1", "step-2"):
        measured = store.read(step)
        assert measured
        assert measured.spent
        assert (measured.spent.seconds >= 0.3) == works
        assert (measured.spent.seconds < 0.2) == (not works)
