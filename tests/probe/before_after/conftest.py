"""A small network that knows the digits, and what became of it."""

from copy import deepcopy

import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy

import probe


def digits():
    pixels, labels = load_digits(return_X_y=True)
    x = (
        torch.tensor(pixels / 16)
        .float()
        .view(
            -1,
            1,
            8,
            8,
        )
    )
    return x, torch.tensor(labels)


X, Y = digits()
TRAIN = (X[:1000], Y[:1000])
FEW = (X[:300], Y[:300])
OLD = (X[1000:1500], Y[1000:1500])


def turned(pair):
    x, y = pair
    return x.rot90(1, (2, 3)), y


NEW = turned(OLD)
STORED = {"old": FEW, "new": turned(FEW)}


def block(width):
    return nn.Sequential(
        nn.Conv2d(width, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
    )


def small():
    return nn.Sequential(
        block(1),
        block(8),
        nn.MaxPool2d(4),
        nn.Flatten(),
        nn.Linear(32, 16),
        nn.ReLU(),
        nn.Linear(16, 10),
    )


def trained(network, pair, epochs):
    x, y = pair
    network = deepcopy(network).train()
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=0.004,
    )
    draw = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for rows in torch.randperm(len(y), generator=draw).split(50):
            optimizer.zero_grad()
            cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()
    return network.eval()


def few(pair):
    x, y = pair
    return x[:60], y[:60]


def compared_in_short(before, after, **options):
    """Compare by few examples, with remedies of a single step."""
    train = {name: few(pair) for name, pair in STORED.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("probe.before_after.remedies.STEPS", 1)
        probe.diff(before, after, few(OLD), few(NEW), train=train, **options)


@pytest.fixture(scope="session")
def before():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = small()
    return trained(network, TRAIN, 8)


@pytest.fixture(scope="session")
def after(before):
    """Fine-tuned on turned digits."""
    return trained(before, turned(TRAIN), 3)


@pytest.fixture(scope="session")
def full(before, after):
    """Everything that can be asked of the pair."""
    return probe.diff(before, after, OLD, NEW, train=STORED)
