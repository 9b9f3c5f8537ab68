"""A network before and after it has learned two other classes, with old and new examples."""

import copy

import torch
from torch import nn

CENTERS = 2 * torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


def data(classes, seed):
    """Return noisy points around the centers of some classes."""
    y = torch.tensor(classes)[torch.arange(80) % len(classes)]
    return CENTERS[y] + torch.randn(
        80, 8, generator=torch.Generator().manual_seed(seed)
    ), y


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 16),
        nn.ReLU(),
        nn.Linear(16, 4),
    )


def fitted(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


UNTRAINED = network()
BEFORE = fitted(network(), *data([0, 1], 1))
AFTER = fitted(copy.deepcopy(BEFORE), *data([2, 3], 2))
OLD = data([0, 1], 3)
NEW = data([2, 3], 4)
TRAIN = data([0, 1, 2, 3], 5)
TEST = data([0, 1, 2, 3], 6)
