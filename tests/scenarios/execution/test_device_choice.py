"""The executor of a command line, its devices, and refusals."""

import os
from contextlib import nullcontext

import pytest
import torch

from scenarios.execution.devices import executor_for, side_by_side
from scenarios.options import RunOptions

RAY = {"executor": "ray"}


@pytest.mark.parametrize(
    ("flags", "device", "name", "arguments"),
    [
        ({}, "cpu", "pool", (["cpu"] * 3,)),
        ({"executor": "inline"}, "cpu", "inline", ()),
        ({"workers": 1}, "cpu", "inline", ()),
        ({"workers": 1, "executor": "pool"}, "cpu", "pool", (["cpu"],)),
        ({"workers": 3}, "cuda", "pool", (["cuda:0", "cuda:1", "cuda:0"],)),
        ({}, "cuda", "pool", (["cuda:0", "cuda:1"],)),
        ({}, "cuda:1", "inline", ()),
        ({"workers": 2}, "cuda:1", "pool", (["cuda:1"] * 2,)),
        (RAY, "cpu", "_events", (None, None, 0.0)),
        (
            {**RAY, "workers": 3, "ray_address": "auto"},
            "cuda",
            "_events",
            ("auto", 3, 1.0),
        ),
    ],
)
def test_the_executor_of_flags(monkeypatch, flags, device, name, arguments):
    """On a machine of three cores and two cards."""
    monkeypatch.setattr(
        "scenarios.execution.cluster._connected", lambda *_: nullcontext()
    )
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    executor = executor_for(RunOptions(**flags), torch.device(device))
    assert getattr(executor, "func", executor).__name__ == name
    assert getattr(executor, "args", ()) == arguments
    if name == "pool":
        assert side_by_side(RunOptions(**flags), torch.device(device)) == len(
            arguments[0]
        )
    assert (
        side_by_side(
            RunOptions(executor="ray", gpus_per_job=0.25), torch.device("cuda")
        )
        == 8
    )
