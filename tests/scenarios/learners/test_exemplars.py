"""Exemplars: drawn by their probabilities, within their budget, and restored as they were."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from scenarios.learners.exemplars import Exemplars, ExemplarSettings, choose
from tests.scenarios.learners.tiny_learners import chain, digits, rows

TASKS = digits(20).tasks
MODEL = chain(nn.Flatten, lambda: nn.Linear(64, 12), nn.ReLU, lambda: nn.Linear(12, 10))


def store(**settings):
    return Exemplars(ExemplarSettings(**settings))


@pytest.mark.parametrize("budget", [{"per_class": 3}, {"total": 21}, {"per_class": 50}])
def test_a_class_met_again_keeps_the_exemplars_of_earlier_tasks(budget):
    """It counts once for each task; the state brings back all, also of groups of unlike sizes."""
    few = replace(TASKS[0], train=TASKS[0].train.take(torch.arange(9)))
    exemplars = store(**budget)
    other = store(**budget)
    earlier = set()
    met = (TASKS[1], few, TASKS[1], TASKS[0])
    for done, task in enumerate(met):
        exemplars.add(MODEL, task, stream(0, "memory", done))
        quota = budget.get("per_class", budget.get("total", 0) // (2 * done + 2))
        sizes = []
        for t in met[: done + 1]:
            sizes += [min(quota, int((t.train.y == c).sum())) for c in t.classes]
        x = exemplars.examples.x
        assert len(x) == sum(sizes)
        assert set(rows(x)[: sum(sizes[:-2])]) <= earlier
        earlier = set(rows(x))
        # One that is restored each time goes on as one that is not.
        other.add(MODEL, task, stream(0, "memory", done))
        other.restore(other.state(), met[: done + 1])
        assert torch.equal(other.examples.x, x)
    other.restore({}, ())
    assert (other.examples, other.state()) == (None, {})


DRAWS = 1000
LOGITS = np.array(
    [
        [0.5, 0, 0],
        [1, 0, 1],
        [2, -1, 0],
        [4, 0, 0],
        [-3, 0, 0],
    ]
)
P = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
WEIGHTS = {
    "uniform": [1.0] * 5,
    "plane_distance": (1 / np.abs(LOGITS[:, 0])).tolist(),
    "entropy": (-P * np.log(P)).sum(1).tolist(),
}


def chosen(strategy, count, generator):
    """Choose among five examples of class 0; the logits are the inputs."""
    layer = nn.Linear(3, 3, bias=False)
    layer.weight.data = torch.eye(3)
    own = Examples(torch.from_numpy(LOGITS).float(), torch.zeros(5, dtype=torch.int64))
    return choose(strategy, layer, own, count, generator).tolist()


@pytest.mark.parametrize("strategy", WEIGHTS)
def test_draws_follow_the_probabilities_in_their_order(strategy):
    """Pairs (first, second) are drawn one by one, by weight among the rest."""
    generator = torch.Generator().manual_seed(0)
    q = np.array(WEIGHTS[strategy]) / np.sum(WEIGHTS[strategy])
    expected = q[:, None] * q / (1 - q[:, None])
    seen = np.zeros((5, 5))
    for _ in range(DRAWS):
        seen[tuple(chosen(strategy, 2, generator))] += 1
    off = ~np.eye(5, dtype=bool)
    assert seen.diagonal().sum() == 0
    assert chisquare(seen[off], DRAWS * expected[off]).pvalue > 0.01
