"""Exemplars: within their budget after every task, and restored as they were."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from scenarios.learners.exemplars import Exemplars, ExemplarSettings
from tests.scenarios.learners.tiny_learners import chain, digits, rows

TASKS = digits(20).tasks
MODEL = chain(nn.Flatten, lambda: nn.Linear(64, 12), nn.ReLU, lambda: nn.Linear(12, 10))


def store(**settings: Any) -> Exemplars:
    return Exemplars(ExemplarSettings(**settings))


def kept(exemplars: Exemplars) -> Examples:
    assert exemplars.examples is not None
    return exemplars.examples


@pytest.mark.parametrize("budget", [{"per_class": 3}, {"total": 21}, {"per_class": 50}])
def test_a_class_met_again_keeps_the_exemplars_of_earlier_tasks(budget: dict[str, int]) -> None:
    """It counts once for each task; the state brings back all, also of groups of unlike sizes."""
    few = replace(TASKS[0], train=TASKS[0].train.take(torch.arange(9)))
    exemplars, other, earlier = store(**budget), store(**budget), set[tuple[float, ...]]()
    for done, task in enumerate(met := (TASKS[1], few, TASKS[1], TASKS[0])):
        exemplars.add(MODEL, task, stream(0, "memory", done))
        quota = budget.get("per_class", budget.get("total", 0) // (2 * done + 2))
        sizes = [
            min(quota, int((t.train.y == c).sum())) for t in met[: done + 1] for c in t.classes
        ]
        assert len(kept(exemplars)) == sum(sizes)
        assert set(rows(kept(exemplars).x)[: sum(sizes[:-2])]) <= earlier
        earlier = set(rows(kept(exemplars).x))
        # One that is restored each time goes on as one that is not.
        other.add(MODEL, task, stream(0, "memory", done))
        other.restore(other.state(), met[: done + 1])
        assert torch.equal(kept(other).x, kept(exemplars).x)
    other.restore({}, ())
    assert (other.examples, other.state()) == (None, {})
