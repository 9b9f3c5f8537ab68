"""One job: how it evaluates, and what it retrains with."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from scenarios.study.job import run_job
from torch import Tensor, nn

from probe.by_layer.jobs import jobs_of
from probe.by_layer.store import Store
from scenarios.data.datasets import Location
from scenarios.study.source import check_study
from tests.scenarios.tiny_run import PLAIN


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

    monkeypatch.setattr("scenarios.study.job.network_for", watched)
    raw = {
        "name": "watched",
        "scenario": {"data": "digits", "train_limit": 8},
        "network": {"name": "mlp"},
        "training": {"epochs": 1, "batch_size": 16},
        "learners": {"finetune": {}},
        "orders": "none",
        "probing": PLAIN,
    }
    study = check_study(raw, "watched")
    scenario = study.scenario.scenario(Location())
    (job,) = jobs_of(study, 5)
    Watched.seen.clear()
    store = Store(tmp_path, job.name, {})
    for part in run_job(study, job, scenario, store, torch.device("cpu")):
        if part.startswith("step"):
            # No training batch holds more than 16 + 1 examples.
            assert {training for n, training in Watched.seen if n > 17} == {False}
    assert sum(n for n, training in Watched.seen if not training) >= 6 * 360


def test_the_retraining_has_a_recipe_of_its_own(tmp_path: Path) -> None:
    """The trained model is the same, the retrained one is not."""
    counts = {}
    for epochs in (1, 3):
        raw = {
            "name": "own",
            "scenario": {"data": "digits", "train_limit": 8},
            "network": {"name": "mlp"},
            "training": {"epochs": 1},
            "retraining": {"epochs": epochs, "learning_rate": 0.01},
            "learners": {"finetune": {}},
            "orders": "none",
            "probing": PLAIN,
        }
        study = check_study(raw, "own")
        (job,) = jobs_of(study, 5)
        root = tmp_path / str(epochs)
        root.mkdir()
        store = Store(root, job.name, {})
        scenario = study.scenario.scenario(Location())
        for part in run_job(study, job, scenario, store, torch.device("cpu")):
            measured = store.read(part)
            counts[part, epochs] = measured and measured.counts
    assert counts["step-5", 1] == counts["step-5", 3]
    assert counts["feature-hidden1", 1] != counts["feature-hidden1", 3]
