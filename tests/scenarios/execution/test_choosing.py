"""Which executor a command line gets, with which devices, and what is refused."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
import torch
from scenarios.execution.inline import Inline

from probe.errors import InputError
from scenarios.execution.choosing import EXECUTORS, Choice
from scenarios.execution.cluster import Cluster
from scenarios.execution.pool import Pool

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def set_up(executor: object) -> dict[str, Any]:
    """Return what an executor was made with."""
    return {name.strip("_"): value for name, value in vars(executor).items()}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"executor": "rya"}, "unknown executor 'rya': did you mean 'ray'?"),
        ({"executor": "Pool"}, r"unknown executor 'Pool'.*known: inline, pool, ray"),
        ({"workers": 0}, "--workers must be 1 or more, got 0"),
        ({"workers": -1, "executor": "ray"}, "--workers must be 1 or more, got -1"),
        ({"workers": 10_001}, "--workers must be 10000 or less, got 10001"),
        ({"executor": "inline", "workers": 2}, "got --workers 2: use --executor pool"),
        ({"address": "auto"}, "--ray-address is for Ray: add --executor ray"),
        ({"executor": "pool", "address": ""}, "--ray-address is for Ray"),
        ({"executor": "inline", "gpus": 0.5}, "--gpus-per-job is for Ray"),
        ({"executor": "ray", "gpus": 0.0}, "--gpus-per-job is a share of one GPU.*got 0.0"),
        ({"executor": "ray", "gpus": -0.25}, "got -0.25"),
        ({"executor": "ray", "gpus": 0.00099}, "from 0.001 to 1, got 0.00099"),
        ({"executor": "ray", "gpus": 1.5}, "from 0.001 to 1, got 1.5"),
        ({"executor": "ray", "gpus": float("nan")}, "got nan"),
        ({"executor": "ray", "gpus": float("inf")}, "got inf"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Choice(**wrong)


@pytest.mark.parametrize(("name", "bound"), [("workers", 10_000), ("gpus", 0.001), ("gpus", 1.0)])
def test_the_bounds_themselves_can_be_asked_for(name: str, bound: float) -> None:
    assert getattr(Choice(**{"executor": "ray", name: bound}), name) == bound


@pytest.mark.parametrize("executor", EXECUTORS)
def test_each_can_be_asked_for(executor: str) -> None:
    kinds = {"inline": Inline, "pool": Pool, "ray": Cluster}
    assert type(Choice(executor=executor).executor_on(CPU)) is kinds[executor]


def test_one_worker_is_this_process() -> None:
    assert isinstance(Choice(workers=1).executor_on(CPU), Inline)
    assert isinstance(Choice(workers=2).executor_on(CPU), Pool)
    assert isinstance(Choice(workers=1, executor="pool").executor_on(CPU), Pool)


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_by_default_every_core_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    chosen = Choice().executor_on(CPU)
    assert Choice().side_by_side(CPU) == cores
    if cores == 1:
        assert isinstance(chosen, Inline)
    else:
        assert set_up(chosen) == {"devices": ["cpu"] * cores}


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
    choice = Choice(workers=workers)
    assert set_up(choice.executor_on(CUDA)) == {"devices": devices}
    assert choice.side_by_side(CUDA) == len(devices)


def test_a_card_that_was_named_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    named = torch.device("cuda:1")
    assert set_up(Choice(workers=3).executor_on(named)) == {"devices": ["cuda:1"] * 3}
    assert isinstance(Choice().executor_on(named), Inline)


def test_one_card_is_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert isinstance(Choice().executor_on(CUDA), Inline)


def test_what_ray_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.execution.cluster._refuse_unless_connected", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    quarter = Choice(executor="ray", gpus=0.25)
    assert set_up(quarter.executor_on(CUDA)) == {"address": None, "workers": None, "gpus": 0.25}
    assert quarter.side_by_side(CUDA) == 8
    whole = Choice(executor="ray", workers=3, address="auto")
    assert set_up(whole.executor_on(CUDA)) == {"address": "auto", "workers": 3, "gpus": 1.0}
    assert set_up(whole.executor_on(CPU))["gpus"] == 0.0


@pytest.mark.parametrize(
    ("choice", "device", "said"),
    [
        (Choice(executor="ray"), "cuda:1", "Ray deals out the GPUs: use --device cuda, not cuda:1"),
        (Choice(executor="ray", gpus=0.25), "cpu", "--gpus-per-job is for jobs on GPUs"),
        (Choice(executor="ray", address="127.0.0.1:9"), "cpu", "no Ray cluster answers at 127.0"),
        (Choice(executor="ray", address="ray://127.0.0.1:9"), "cpu", "no Ray cluster answers"),
        (Choice(executor="ray", address="no-host.invalid:1"), "cpu", "no Ray cluster answers"),
    ],
)
def test_what_ray_cannot_do_is_refused(choice: Choice, device: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        choice.executor_on(torch.device(device))


def test_an_address_in_the_environment_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(InputError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        Choice(executor="ray", address="auto").executor_on(CPU)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'forgetting-probe\[ray\]'"):
        Choice(executor="ray").executor_on(CPU)
