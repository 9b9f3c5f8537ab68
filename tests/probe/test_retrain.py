"""The protocol on one model: its laws, and its agreement with the plain implementation."""

from functools import cache

import numpy as np
import pytest
import torch

from probe import Recipe, partial_retrain
from probe.errors import InputError
from probe.metrics.counts import Counts
from probe.model import Model
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import fit
from scenarios.data.datasets import load
from scenarios.networks import ARCHITECTURES
from tests.laws import reference

TASKS = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
RECIPE = Recipe(epochs=2, batch_size=16, init="murata")


@cache
def digits(limit):
    data = load("digits")
    return data.train.take(torch.arange(limit)), data.test


def biased(name):
    """A network trained on two classes of the digits alone, as a continual learner ends up."""
    model = ARCHITECTURES[name].build((1, 8, 8), 10)
    initialize(model, "murata", stream(0, "init"))
    fit(
        model,
        digits(300)[0].of_classes([8, 9]),
        RECIPE,
        stream(0),
    )
    return model


@pytest.mark.parametrize("name", ["cnn3", "mlp"])
def test_agrees_with_the_plain_implementation(name):
    model, (train, test) = biased(name), digits(300)
    features = ARCHITECTURES[name].features
    # A caller may have disabled gradients.
    with torch.set_grad_enabled(name == "mlp"):
        result = partial_retrain(model, features, train, test, TASKS, RECIPE, seed=3)
    for depth, feature in enumerate(features[:-1], 1):
        plain = reference.partial_retrained(
            model, features[:depth], train.x, train.y, RECIPE, seed=3
        )
        expected = Counts.of(test.y, reference.predictions(plain, test.x), classes=10)
        moved = np.abs(result.counts[feature].table - expected.table).sum()
        assert moved <= 2, (
            f"{feature}: more than one of {len(test)} predictions differs"
        )
    own = Counts.of(test.y, reference.predictions(model, test.x), classes=10)
    assert result.counts[features[-1]] == own


def test_without_a_recipe_it_takes_a_thousand_steps_or_five_epochs():
    """Of 130 examples two batches and a half: an epoch has three steps."""
    train, test = digits(130)
    results = [
        partial_retrain(biased("mlp"), ["hidden1"], train, test, TASKS, recipe)
        for recipe in (None, Recipe(epochs=334))
    ]
    assert results[0].counts == results[1].counts
    assert Recipe().long_enough(64_000).epochs == 5


def test_divergence_says_when():
    train, test = digits(50)
    model = ARCHITECTURES["mlp"].build((1, 8, 8), 10)
    wild = Recipe(epochs=3, optimizer="sgd", learning_rate=1e30)
    with pytest.raises(InputError, match=r"diverged.*epoch [1-3] of 3.*learning_rate"):
        partial_retrain(model, ["hidden1"], train, test, TASKS, wild)
    unseen = torch.arange(10).gt(5)
    masked = Model(
        model,
        call=lambda net, x: net(x).masked_fill(unseen, -torch.inf),
    )
    with pytest.raises(InputError, match="classes whose output is -inf"):
        partial_retrain(masked, ["hidden1"], train, test, TASKS, Recipe(epochs=1))
