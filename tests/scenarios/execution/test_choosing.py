"""Which executor a command line gets, with which devices, and what is refused."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from probe.errors import InputError
from scenarios.execution.choosing import executor_for, side_by_side
from scenarios.execution.cluster import Cluster
from scenarios.execution.executor import Inline
from scenarios.execution.pool import Pool
from scenarios.options import EXECUTORS, RunOptions

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def set_up(executor: object) -> dict[str, Any]:
    """Return what an executor was made with."""
    return {name.strip("_"): value for name, value in vars(executor).items()}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_each_can_be_asked_for(executor: str) -> None:
    kinds = {"inline": Inline, "pool": Pool, "ray": Cluster}
    assert type(executor_for(RunOptions(executor=executor), CPU)) is kinds[executor]


def test_one_worker_is_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(executor_for(RunOptions(workers=1), CPU), Inline)
    assert isinstance(executor_for(RunOptions(workers=2), CPU), Pool)
    assert isinstance(executor_for(RunOptions(workers=1, executor="pool"), CPU), Pool)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert isinstance(executor_for(RunOptions(), CUDA), Inline)


@pytest.mark.parametrize("cores", [2, 7])
def test_by_default_every_core_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    assert side_by_side(RunOptions(), CPU) == cores
    assert set_up(executor_for(RunOptions(), CPU)) == {"devices": ["cpu"] * cores}


@pytest.mark.parametrize(
    ("cards", "workers", "devices"),
    [
        (2, 5, ["cuda:0", "cuda:1", "cuda:0", "cuda:1", "cuda:0"]),
        (3, None, ["cuda:0", "cuda:1", "cuda:2"]),
        (4, 2, ["cuda:0", "cuda:1"]),
        (1, 2, ["cuda:0", "cuda:0"]),
    ],
)
def test_cards_are_dealt_out_in_turn(
    monkeypatch: pytest.MonkeyPatch, cards: int, workers: int | None, devices: list[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    options = RunOptions(workers=workers)
    assert set_up(executor_for(options, CUDA)) == {"devices": devices}
    assert side_by_side(options, CUDA) == len(devices)


def test_a_card_that_was_named_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    named = torch.device("cuda:1")
    assert set_up(executor_for(RunOptions(workers=3), named)) == {"devices": ["cuda:1"] * 3}
    assert isinstance(executor_for(RunOptions(), named), Inline)


def test_what_ray_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.execution.cluster._connected", lambda *_: nullcontext())
    monkeypatch.setattr("scenarios.execution.cluster._refuse_without_gpu", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    quarter = RunOptions(executor="ray", gpus_per_job=0.25)
    assert set_up(executor_for(quarter, CUDA)) == {"address": None, "workers": None, "gpus": 0.25}
    assert side_by_side(quarter, CUDA) == 8
    whole = RunOptions(executor="ray", workers=3, ray_address="auto")
    assert set_up(executor_for(whole, CUDA)) == {"address": "auto", "workers": 3, "gpus": 1.0}
    assert set_up(executor_for(whole, CPU))["gpus"] == 0.0


@pytest.mark.parametrize(
    ("given", "device", "said"),
    [
        ({}, "cuda:1", "Ray assigns the GPUs: use --device cuda, not cuda:1"),
        ({"gpus_per_job": 0.25}, "cpu", "--gpus-per-job is for jobs on GPUs"),
        ({"ray_address": "127.0.0.1:9"}, "cpu", "no Ray cluster answers at 127.0"),
        ({"ray_address": "ray://127.0.0.1:9"}, "cpu", "no Ray cluster answers"),
        ({"ray_address": "no-host.invalid:1"}, "cpu", "no Ray cluster answers"),
    ],
)
def test_what_ray_cannot_do_is_refused(given: dict[str, Any], device: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        executor_for(RunOptions(executor="ray", **given), torch.device(device))


def test_an_address_in_the_environment_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(InputError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        executor_for(RunOptions(executor="ray", ray_address="auto"), CPU)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'forgetting-probe\[ray\]'"):
        executor_for(RunOptions(executor="ray"), CPU)
