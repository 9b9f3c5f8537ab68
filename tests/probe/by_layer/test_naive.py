"""Partial retraining agrees with the protocol as anyone would write it down in plain torch.

Keep the layers up to a feature as they are, batch norm with its own statistics; build what is
behind them anew; train that on the data of all tasks with Adam; test. Nothing of ours is used for
it. The means of five retrainings of ours and fifteen of those differ by no more than four standard
errors of their difference.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor, nn

import probe

TASKS = [[0, 1], [2, 3], [4, 5]]
SEEDS, EPOCHS, BATCH, RATE = 5, 4, 32, 0.003
ERRORS = 4
FEATURES = {"2": 3, "5": 6, "8": 9}
"""Features by name, each with how many layers come before what is retrained behind it."""


def build() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Linear(64, 12), nn.BatchNorm1d(12), nn.ReLU()),
        *(nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU()),
        *(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()),
        nn.Linear(8, 6),
    )


@cache
def data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x and y to train with, and x and y to test with: digits below 6, with noise."""
    images, labels = load_digits(n_class=6, return_X_y=True)
    x, y = torch.tensor(images).float() / 16, torch.tensor(labels)
    x = x + 0.3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    return x[:500], y[:500], x[500:1000], y[500:1000]


def train(model: nn.Module, x: Tensor, y: Tensor) -> None:
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=RATE)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(y)).split(BATCH):
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@cache
def learned() -> nn.Sequential:
    """Return a network that was fine-tuned on one task after the other."""
    x, y, _, _ = data()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build().train()
        for classes in TASKS:
            own = torch.isin(y, torch.tensor(classes))
            train(model, x[own], y[own])
    return model.eval()


@cache
def naive(layers: int, fresh: bool = True) -> NDArray[np.float64]:
    """Return the accuracy of each retraining behind so many layers; fresh: built anew for it."""
    x, y, test_x, test_y = data()
    prefix, found = learned()[:layers].eval(), []
    for seed in range(15):
        with torch.random.fork_rng():
            torch.manual_seed(100 + seed)
            tail = (build() if fresh else copy.deepcopy(learned()))[layers:].train()
            with torch.no_grad():
                inside, test_inside = prefix(x), prefix(test_x)
            train(tail, inside, y)
        right = tail.eval()(test_inside).argmax(1) == test_y
        found.append(float(right.double().mean()))
    return np.array(found)


def agree(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> bool:
    """Whether two means differ by no more than so many standard errors of their difference."""
    error = np.sqrt(ours.var(ddof=1) / len(ours) + theirs.var(ddof=1) / len(theirs))
    return bool(abs(ours.mean() - theirs.mean()) <= ERRORS * error)


def measured(models: Any, **given: Any) -> dict[str, NDArray[np.float64]]:
    """Return the accuracy behind each feature of each of five retrainings."""
    x, y, test_x, test_y = data()
    found = probe.analyze(
        models,
        probe.Examples(x, y),
        probe.Examples(test_x, test_y),
        TASKS,
        [*FEATURES, "9"],
        recipe=probe.Recipe(epochs=EPOCHS, batch_size=BATCH, learning_rate=RATE),
        **given,
    )
    rows = (row for row in found.rows() if (row.learner, row.measure) == ("model", "pra"))
    each = [row for row in rows if row.feature in FEATURES]
    by_place = {(row.feature, row.seed): row.value for row in each}
    assert len(by_place) == len(each)
    return {
        name: np.array([by_place[name, seed] for seed in range(SEEDS)], dtype=float)
        for name in FEATURES
    }


@pytest.fixture(scope="module")
def ours() -> dict[str, NDArray[np.float64]]:
    """One network retrained five times."""
    models = probe.Model({len(TASKS): learned()}, fresh=build)
    return measured(models, readouts=probe.Measure(readouts=["retrain"], seeds=SEEDS))


@pytest.mark.parametrize("feature", FEATURES)
def test_means_agree_within_noise(ours: dict[str, NDArray[np.float64]], feature: str) -> None:
    assert len(set(ours[feature])) > 1
    assert agree(ours[feature], naive(FEATURES[feature]))


def test_another_protocol_or_layer_does_not_agree(ours: dict[str, NDArray[np.float64]]) -> None:
    assert not agree(ours["2"], naive(FEATURES["2"], fresh=False))
    assert not agree(ours["8"], naive(FEATURES["2"]))
