"""Exemplars: within their budget after every task, and the first chosen stay the longest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from scenarios.learners.exemplars import Exemplars, ExemplarSettings
from scenarios.learners.sampling import Strategy
from tests.scenarios.learners.tiny_learners import chain, digits, learn, learner, rows

STRATEGIES = get_args(Strategy)
TASKS = digits(20).tasks


def store(**settings: Any) -> Exemplars:
    return Exemplars(ExemplarSettings(**settings))


def model() -> nn.Module:
    return chain(nn.Flatten, lambda: nn.Linear(64, 12), nn.ReLU, lambda: nn.Linear(12, 10))


def kept(exemplars: Exemplars) -> Examples:
    assert exemplars.examples is not None
    return exemplars.examples


def counts(exemplars: Exemplars) -> list[int]:
    return torch.bincount(kept(exemplars).y).tolist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_so_many_of_each_class_once_each_and_of_their_own(strategy: Strategy) -> None:
    exemplars = store(per_class=7, sampling=strategy)
    for done, task in enumerate(TASKS):
        exemplars.add(model(), task, stream(0, "memory", done))
        assert counts(exemplars) == [7] * 2 * (done + 1)
    for label in range(10):
        own = TASKS[label // 2].train.of_classes([label])
        chosen = rows(kept(exemplars).of_classes([label]).x)
        assert len(set(chosen)) == 7
        assert set(chosen) <= set(rows(own.x))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("total", [10, 23, 57])
def test_a_total_is_shared_out_and_never_exceeded_and_the_first_stay(
    strategy: Strategy, total: int
) -> None:
    exemplars = store(total=total, sampling=strategy)
    first: dict[int, list[tuple[float, ...]]] = {}
    for done, task in enumerate(TASKS):
        exemplars.add(model(), task, stream(0, "memory", done))
        quota = min(total // (2 * done + 2), 20)
        assert counts(exemplars) == [quota] * (2 * done + 2)
        assert len(kept(exemplars)) <= total
        for label in task.classes:
            first[label] = rows(kept(exemplars).of_classes([label]).x)
        for label, then in first.items():
            assert rows(kept(exemplars).of_classes([label]).x) == then[:quota]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_class_met_again_keeps_its_quota(strategy: Strategy) -> None:
    """Chosen anew, from the stored and the new examples together."""
    early, late = digits(40).tasks[0], digits(40).tasks[0]
    halves = [torch.arange(0, 40), torch.arange(40, 80)]
    early, late = (
        replace(early, train=task.train.take(half))
        for task, half in zip((early, late), halves, strict=True)
    )
    exemplars = store(per_class=8, sampling=strategy)
    exemplars.add(model(), early, stream(0, "memory", 1))
    before = set(rows(kept(exemplars).x))
    exemplars.add(model(), late, stream(0, "memory", 2))
    after = set(rows(kept(exemplars).x))
    assert counts(exemplars) == [8, 8]
    assert after <= before | set(rows(late.train.x))
    assert after & set(rows(late.train.x))
    assert len(after) == 16


def test_a_class_met_again_counts_once_in_a_total() -> None:
    exemplars = store(total=24)
    for done, at in enumerate((0, 1, 0)):
        exemplars.add(model(), TASKS[at], stream(0, "memory", done))
    assert counts(exemplars) == [6] * 4


def test_a_queue_holds_the_latest_also_across_tasks() -> None:
    exemplars, task = store(per_class=6, sampling="fifo"), TASKS[0]
    zeros = task.train.of_classes([0])
    for part in (zeros.take(torch.arange(10)), zeros.take(torch.arange(10, 14))):
        only = replace(task, classes=(0,), train=part, test=zeros)
        exemplars.add(model(), only, stream(0, "memory"))
    assert rows(kept(exemplars).x) == rows(zeros.x[8:14].flip(0))


@pytest.mark.parametrize("budget", [{}, {"per_class": 3, "total": 30}, {"per_class": 0}])
def test_one_budget_above_zero_must_be_given(budget: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        ExemplarSettings(**budget)  # type: ignore[arg-type]


def test_a_total_too_small_for_the_classes_is_refused() -> None:
    exemplars = store(total=3)
    exemplars.add(model(), TASKS[0], stream(0, "memory"))
    with pytest.raises(InputError, match="leaves none for each of 4 classes: raise total"):
        exemplars.add(model(), TASKS[1], stream(0, "memory"))


def test_joined_exemplars_are_visited_once_an_epoch_and_replayed_ones_with_every_batch() -> None:
    seen = {}
    for replay in ("joined", "batch"):
        own = learner("finetune", exemplars={"per_class": 3, "replay": replay})
        learn(own, TASKS[:2]).begin(TASKS[2])
        data = own.examples(TASKS[2])
        x, _ = own.batch(data.x[:5], data.y[:5])
        seen[replay] = (len(data), len(x))
    assert seen == {"joined": (40 + 12, 5), "batch": (40, 10)}
