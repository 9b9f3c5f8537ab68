"""The product takes the same steps as the obvious implementation, and ends where it ends."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.recipe import Recipe
from scenarios.networks import cnn3, reduced_resnet18
from tests.bench import obvious, product

NETWORKS = {
    "cnn3": lambda: cnn3((1, 14, 14), 4),
    "reduced_resnet18": lambda: reduced_resnet18((3, 25, 25), 4, base=4),
}
STEPS, BATCH = 10, 8


def network(name: str) -> nn.Sequential:
    """Return the network with fresh weights, its batch-norm statistics those of some images."""
    model = NETWORKS[name]()
    initialize(model, "murata", stream(1))
    with torch.no_grad():
        model(images(name, 64).x)
    return model


def images(name: str, n: int = STEPS * BATCH, seed: int = 0) -> Examples:
    """Return noise whose first pixels tell the class, so that there is something to learn."""
    draw = stream(seed, "images")
    shape = (1, 14, 14) if name == "cnn3" else (3, 25, 25)
    x, y = torch.randn(n, *shape, generator=draw), torch.arange(n) % 4
    x[torch.arange(n), :, y, :] += 2
    return Examples(x, y)


def gaps(name: str, feature: str, precision: str, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return by how much the losses of the first ten steps differ."""
    model, data = network(name).to(dtype), images(name)
    data = Examples(data.x.to(dtype), data.y)
    recipe = Recipe(epochs=1, batch_size=BATCH, init="murata", precision=precision)  # type: ignore[arg-type]
    theirs = obvious.retrained(model, feature, data, recipe, seed=3)[1]
    ours = product.losses(model, feature, data, recipe, seed=3)
    assert len(ours) == len(theirs) == STEPS
    return torch.tensor(np.abs(np.subtract(ours, theirs)))


CUTS = [(name, stage) for name, build in NETWORKS.items() for stage in obvious.stages(build())]


@pytest.mark.parametrize(("name", "feature"), CUTS)
def test_the_first_ten_steps_are_the_same_steps(name: str, feature: str) -> None:
    """In float64, where rounding leaves no room for doubt."""
    assert gaps(name, feature, "fp32", torch.float64).max() < 1e-9


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_sweep_ends_where_the_obvious_one_ends(precision: str) -> None:
    model, train, test = network("cnn3"), images("cnn3", 160), images("cnn3", 400, seed=1)
    recipe = Recipe(epochs=8, batch_size=16, init="murata", precision=precision)  # type: ignore[arg-type]
    stages = obvious.stages(model)
    ours = product.sweep(model, stages, train, test, recipe, seed=0)
    theirs = obvious.sweep(model, stages, train, test, recipe, seed=0)
    assert list(ours) == stages
    assert all(abs(ours[stage] - theirs[stage]) <= 0.03 for stage in stages)
    assert all(theirs[stage] > 0.5 for stage in stages)
