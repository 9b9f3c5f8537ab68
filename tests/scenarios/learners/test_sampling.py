"""Sampling strategies that draw follow their probabilities; others: `tests.laws`."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import nn

from probe.examples import Examples
from scenarios.learners.exemplars import Strategy, choose

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
