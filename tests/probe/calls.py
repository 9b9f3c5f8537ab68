"""Calls from Python on small models, for what goes through and for what is refused."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

import probe.retrain
from probe import Examples, Model, Recipe, partial_retrain
from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.seeding import stream

Case = tuple[Callable[[], object], str]
"""A call with a mistake, and a part of the sentence that tells it."""

X, Y = torch.randn(24, 4, generator=stream(0)), torch.arange(24) % 2
DATA = Examples(X, Y)
TASKS = [[0], [1]]


def net(width=8, outputs=2):
    return nn.Sequential(
        nn.Linear(4, width),
        nn.ReLU(),
        nn.Linear(width, outputs),
    )


class Two(nn.Module):
    """A model of two inputs."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, left, right):
        return self.out((self.a(left) + self.b(right)).relu())


class Scaled(nn.Module):
    """A factor that no `reset_parameters` writes."""

    def __init__(self, width=4):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.scale


def normed():
    return nn.Sequential(
        nn.Linear(4, 8),
        nn.BatchNorm1d(8),
        nn.Linear(8, 2),
    )


def retrained(
    model=None,
    features=("1",),
    train=DATA,
    test=None,
    tasks=TASKS,
    **given,
):
    """Retrain a model; given: of `Model`, or of the recipe."""
    recipe = given.pop("recipe", Recipe(epochs=1))
    model = Model(net() if model is None else model, **given)
    return partial_retrain(
        model, features, train, train if test is None else test, tasks, recipe
    )


def of_cuts(model, train=DATA, **given):
    return retrained(model, cut_each(net(), ["1"], X), train, **given)


def unreadable():
    raise OSError("no weights\nhere")


def check_told(case, monkeypatch):
    """Check that a mistake is told in one sentence before any training."""
    # Not an Exception: it may not become one of the sentences.
    monkeypatch.setattr(
        probe.retrain, "fit", lambda *_: pytest.fail("something was trained")
    )
    call, sentence = case
    with pytest.raises(InputError) as raised:
        call()
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
