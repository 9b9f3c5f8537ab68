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
from scenarios.learners.finetune import Finetune, FinetuneSettings
from scenarios.learners.sampling import Strategy
from tests.learning import colored, digits, learn, learner, resumed, rows, same

STRATEGIES = get_args(Strategy)


def store(**settings: Any) -> Exemplars:
    return Exemplars(ExemplarSettings(**settings))


def model() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))


def kept(exemplars: Exemplars) -> Examples:
    assert exemplars.examples is not None
    return exemplars.examples


def counts(exemplars: Exemplars) -> list[int]:
    return torch.bincount(kept(exemplars).y).tolist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_so_many_of_each_class_once_each_and_of_their_own(strategy: Strategy) -> None:
    exemplars = store(per_class=7, sampling=strategy)
    for place, task in enumerate(digits()):
        exemplars.add(model(), task, stream(0, "memory", place))
        assert counts(exemplars) == [7] * 2 * (place + 1)
    for label in range(10):
        own = digits()[label // 2].train.of_classes([label])
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
    for place, task in enumerate(digits()):
        exemplars.add(model(), task, stream(0, "memory", place))
        quota = min(total // (2 * place + 2), 20)
        assert counts(exemplars) == [quota] * (2 * place + 2)
        assert len(kept(exemplars)) <= total
        for label in task.classes:
            first[label] = rows(kept(exemplars).of_classes([label]).x)
        for label, then in first.items():
            assert rows(kept(exemplars).of_classes([label]).x) == then[:quota]


def test_a_class_smaller_than_its_quota_is_kept_whole() -> None:
    exemplars = store(per_class=50, sampling="entropy")
    exemplars.add(model(), digits(6)[0], stream(0, "memory"))
    assert counts(exemplars) == [6, 6]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_class_met_again_keeps_its_quota(strategy: Strategy) -> None:
    """Chosen anew, from the stored and the new examples together."""
    early, late = digits(40)[0], digits(40)[0]
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
    for place, at in enumerate((0, 1, 0)):
        exemplars.add(model(), digits()[at], stream(0, "memory", place))
    assert counts(exemplars) == [6] * 4


def test_a_queue_holds_the_latest_also_across_tasks() -> None:
    exemplars, task = store(per_class=6, sampling="fifo"), digits()[0]
    zeros = task.train.of_classes([0])
    for part in (zeros.take(torch.arange(10)), zeros.take(torch.arange(10, 14))):
        only = replace(task, classes=(0,), train=part, test=zeros)
        exemplars.add(model(), only, stream(0, "memory"))
    assert rows(kept(exemplars).x) == rows(zeros.x[8:14].flip(0))


def test_the_state_brings_back_all_and_the_order() -> None:
    exemplars, other = store(total=30, sampling="uniform"), store(total=30, sampling="uniform")
    assert exemplars.state() == {}
    for place, task in enumerate((digits()[3], digits()[0])):
        exemplars.add(model(), task, stream(0, "memory", place))
    other.restore(exemplars.state())
    for one in (exemplars, other):
        one.add(model(), digits()[1], stream(0, "memory", 9))
    assert torch.equal(kept(exemplars).x, kept(other).x)
    assert torch.equal(kept(exemplars).y, kept(other).y)
    assert list(dict.fromkeys(kept(other).y.tolist())) == [6, 7, 0, 1, 2, 3]
    other.restore({})
    assert other.examples is None


@pytest.mark.parametrize("budget", [{}, {"per_class": 3, "total": 30}, {"per_class": 0}])
def test_one_budget_above_zero_must_be_given(budget: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        ExemplarSettings(**budget)  # type: ignore[arg-type]


def test_a_total_too_small_for_the_classes_is_refused() -> None:
    exemplars = store(total=3)
    exemplars.add(model(), digits()[0], stream(0, "memory"))
    with pytest.raises(InputError, match="leaves none for each of 4 classes: raise total"):
        exemplars.add(model(), digits()[1], stream(0, "memory"))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_learner_with_exemplars_goes_on_bit_for_bit(strategy: Strategy) -> None:
    settings = FinetuneSettings(exemplars=ExemplarSettings(total=30, sampling=strategy))
    whole, second = resumed(lambda: learner(Finetune, settings, "mlp"), digits(12)[:3], 1)
    assert same(whole, second)


def test_joined_exemplars_are_visited_once_an_epoch_and_replayed_ones_with_every_batch() -> None:
    tasks = digits()
    seen = {}
    for replay in ("joined", "batch"):
        settings = FinetuneSettings(exemplars=ExemplarSettings(per_class=3, replay=replay))
        own = learner(Finetune, settings, "mlp")
        assert isinstance(own, Finetune)
        learn(own, tasks[:2])
        own.begin(tasks[2])
        data = own.examples(tasks[2])
        x, _ = own.batch(data.x[:5], data.y[:5])
        seen[replay] = (len(data), len(x))
    assert seen == {"joined": (40 + 12, 5), "batch": (40, 10)}


def test_the_features_of_a_network_with_batch_norm_serve_as_well() -> None:
    settings = FinetuneSettings(
        exemplars=ExemplarSettings(total=8, sampling="mean_of_features", replay="joined")
    )
    own = learner(Finetune, settings, "reduced_resnet18", shape=(3, 28, 28))
    learn(own, colored())
    assert torch.bincount(own.state()["memory.y"]).tolist() == [2, 2, 2, 2]
