"""Sampling strategies: drawn ones follow their probabilities, herding its greedy rule."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import chisquare
from torch import Tensor, nn

from probe.examples import Examples
from probe.training.penultimate import penultimate_of
from scenarios.data.datasets import load
from scenarios.learners import sampling
from scenarios.learners.sampling import Strategy, choose
from scenarios.networks import build_network
from tests.scenarios.learners.tiny_learners import seeded

Draw = Callable[[int, torch.Generator], Tensor]

DRAWS = 4000
LOGITS = torch.tensor(
    [[0.5, 0.0, 0.0], [1.0, 0.0, 1.0], [2.0, -1.0, 0.0], [4.0, 0.0, 0.0], [-3.0, 0.0, 0.0]]
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def shannon(logits: Tensor) -> NDArray[np.float64]:
    z = np.exp(logits.double().numpy())
    p = z / z.sum(1, keepdims=True)
    entropies: NDArray[np.float64] = -(p * np.log(p)).sum(1)
    return entropies


DRAWN: dict[str, tuple[Draw, NDArray[np.float64]]] = {
    "uniform": (lambda count, g: sampling.uniform(5, count, g), np.ones(5)),
    "plane_distance": (
        lambda count, g: sampling.plane_distance(LOGITS[:, 0], count, g),
        1 / np.abs(LOGITS[:, 0].double().numpy()),
    ),
    "entropy": (lambda count, g: sampling.entropy(LOGITS, count, g), shannon(LOGITS)),
}


def fits(draw: Draw, weights: NDArray[np.float64]) -> bool:
    """Whether pairs (first, second) are drawn as one by one, by weight among those left."""
    g, q = generator(), weights / weights.sum()
    expected = q[:, None] * q / (1 - q[:, None])
    np.fill_diagonal(expected, 0)
    seen = np.zeros_like(expected)
    for _ in range(DRAWS):
        first, second = draw(2, g).tolist()
        seen[first, second] += 1
    off = ~np.eye(len(q), dtype=bool)
    return (
        bool(seen.diagonal().sum() == 0)
        and chisquare(seen[off], DRAWS * expected[off]).pvalue > 0.01
    )


@pytest.mark.parametrize("name", DRAWN)
def test_draws_follow_the_probabilities_in_their_order(name: str) -> None:
    assert fits(*DRAWN[name])


def test_herding_is_the_greedy_rule_tried_on_every_example() -> None:
    """On what an untrained network's last layer sees of one of the digits."""
    model = seeded(lambda: build_network("mlp", (1, 8, 8), 10), 1)
    features = penultimate_of(model, load("digits").train.of_classes([7]))
    rows = features.double().numpy()
    phi, chosen = rows / np.linalg.norm(rows, axis=1, keepdims=True), list[int]()
    for _ in range(20):
        left = [k for k in range(len(phi)) if k not in chosen]
        costs = [np.linalg.norm(phi[[*chosen, k]].mean(0) - phi.mean(0)) for k in left]
        chosen.append(left[int(np.argmin(costs))])
    assert sampling.mean_of_features(features, 20).tolist() == chosen


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_each_name_leads_to_its_own_function(strategy: Strategy) -> None:
    """On the features, or on the logits of the class; here both are the inputs."""
    own = Examples(LOGITS[:, [1, 0, 2]], torch.ones(5, dtype=torch.int64))
    layer = nn.Linear(3, 3, bias=False)
    layer.weight.data = torch.eye(3)
    expected = {
        **{name: draw(3, generator()) for name, (draw, _) in DRAWN.items()},
        "fifo": torch.tensor([4, 3, 2]),
        "mean_of_features": sampling.mean_of_features(own.x, 3),
    }
    assert torch.equal(choose(strategy, layer, own, 3, generator()), expected[strategy])
