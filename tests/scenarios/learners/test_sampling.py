"""Sampling strategies: drawn ones follow their probabilities, herding its greedy rule."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import nn

from probe.examples import Examples
from probe.training.evaluation import penultimate_of
from scenarios.data.datasets import load
from scenarios.learners.exemplars import Strategy, choose
from scenarios.networks import build_network
from tests.scenarios.learners.tiny_learners import seeded

DRAWS = 1000
LOGITS = np.array([[0.5, 0, 0], [1, 0, 1], [2, -1, 0], [4, 0, 0], [-3, 0, 0]])
P = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
WEIGHTS: dict[Strategy, list[float]] = {
    "uniform": [1.0] * 5,
    "plane_distance": (1 / np.abs(LOGITS[:, 0])).tolist(),
    "entropy": (-P * np.log(P)).sum(1).tolist(),
}


def chosen(strategy: Strategy, count: int, generator: torch.Generator) -> list[int]:
    """Choose among five examples of class 0; the logits are the inputs."""
    layer = nn.Linear(3, 3, bias=False)
    layer.weight.data = torch.eye(3)
    own = Examples(torch.from_numpy(LOGITS).float(), torch.zeros(5, dtype=torch.int64))
    return choose(strategy, layer, own, count, generator).tolist()


@pytest.mark.parametrize("strategy", WEIGHTS)
def test_draws_follow_the_probabilities_in_their_order(strategy: Strategy) -> None:
    """Pairs (first, second) are drawn one by one, by weight among the rest."""
    generator = torch.Generator().manual_seed(0)
    q = np.array(WEIGHTS[strategy]) / np.sum(WEIGHTS[strategy])
    expected, seen = q[:, None] * q / (1 - q[:, None]), np.zeros((5, 5))
    for _ in range(DRAWS):
        seen[tuple(chosen(strategy, 2, generator))] += 1
    off = ~np.eye(5, dtype=bool)
    assert seen.diagonal().sum() == 0
    assert chisquare(seen[off], DRAWS * expected[off]).pvalue > 0.01


def test_a_queue_keeps_the_latest() -> None:
    assert chosen("fifo", 3, torch.Generator()) == [4, 3, 2]


def test_herding_is_the_greedy_rule_tried_on_every_example() -> None:
    """On the features of one of the digits in an untrained network."""
    model, own = seeded(lambda: build_network("mlp", (1, 8, 8), 10), 1), load("digits").train
    own = own.of_classes([7])
    rows = penultimate_of(model, own).double().numpy()
    phi, taken = rows / np.linalg.norm(rows, axis=1, keepdims=True), list[int]()
    for _ in range(20):
        left = [k for k in range(len(phi)) if k not in taken]
        costs = [np.linalg.norm(phi[[*taken, k]].mean(0) - phi.mean(0)) for k in left]
        taken.append(left[int(np.argmin(costs))])
    assert choose("mean_of_features", model, own, 20, torch.Generator()).tolist() == taken
