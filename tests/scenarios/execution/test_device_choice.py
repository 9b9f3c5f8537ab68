"""The executor of a command line, its devices, and refusals."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from scenarios.execution.devices import executor_for, side_by_side
from scenarios.options import RunOptions

RAY = {"executor": "ray"}


@pytest.mark.parametrize(
    ("flags", "device", "kind", "made"),
    [
        ({}, "cpu", "Pool", {"devices": ["cpu"] * 3}),
        ({"executor": "inline"}, "cpu", "Inline", {}),
        ({"workers": 1}, "cpu", "Inline", {}),
        ({"workers": 1, "executor": "pool"}, "cpu", "Pool", {"devices": ["cpu"]}),
        ({"workers": 3}, "cuda", "Pool", {"devices": ["cuda:0", "cuda:1", "cuda:0"]}),
        ({}, "cuda", "Pool", {"devices": ["cuda:0", "cuda:1"]}),
        ({}, "cuda:1", "Inline", {}),
        ({"workers": 2}, "cuda:1", "Pool", {"devices": ["cuda:1"] * 2}),
        (RAY, "cpu", "Cluster", {"address": None, "workers": None, "gpus": 0.0}),
        (
            {**RAY, "workers": 3, "ray_address": "auto"},
            *("cuda", "Cluster", {"address": "auto", "workers": 3, "gpus": 1.0}),
        ),
    ],
)
def test_the_executor_of_flags(
    monkeypatch: pytest.MonkeyPatch, flags: dict[str, Any], device: str, kind: str, made: Any
) -> None:
    """On a machine of three cores and two cards."""
    monkeypatch.setattr("scenarios.execution.cluster._connected", lambda *_: nullcontext())
    monkeypatch.setattr("scenarios.execution.cluster._refuse_without_gpu", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    executor = executor_for(RunOptions(**flags), torch.device(device))
    assert type(executor).__name__ == kind
    assert {name.strip("_"): value for name, value in vars(executor).items()} == made
    if kind == "Pool":
        assert side_by_side(RunOptions(**flags), torch.device(device)) == len(made["devices"])
    assert side_by_side(RunOptions(executor="ray", gpus_per_job=0.25), torch.device("cuda")) == 8
