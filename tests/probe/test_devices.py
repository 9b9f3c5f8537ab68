"""The protocol on a device that is not the CPU: the same numbers, and no step that waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.model import Model
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import stream
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings
from tests.laws.other_device import OtherDevice

CPU = torch.device("cpu")
CLASSES, FEATURES = 4, ("stem", "block", "norm", "hidden", "output")
CACHES: dict[str, dict[str, Any]] = {
    "in memory": {"budget": 10**9},
    "in bf16": {"budget": 10**9, "storage": "bf16"},
    "memory-mapped": {"budget": 0, "room": 10**9},
    "recomputed": {"budget": 0, "room": 0},
}


class Net(nn.Module):
    """Convolutions, one skipped, batch norm and dropout, for images of 2 x 6 x 6."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.block = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 4, 3, padding=1)
        self.norm, self.drop = nn.BatchNorm2d(4), nn.Dropout(0.2)
        self.hidden, self.output = nn.Linear(64, 16), nn.Linear(16, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem(x))
        x = torch.relu(self.norm(self.block(x)) + x)
        return self.output(self.drop(torch.relu(self.hidden(x.flatten(1)))))


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Net()


def examples(n: int = 40) -> Examples:
    draw = stream(0, "x")
    y = torch.arange(n) % CLASSES
    return Examples(torch.randn(n, 2, 6, 6, generator=draw) + y[:, None, None, None] / 2, y)


def predictions(device: torch.device, how: RetrainSettings) -> dict[str, Tensor]:
    """Partial retraining with everything on a device."""
    model = Model(network().to(device), fresh="murata", classes=[3, 1, 0, 2])
    data = examples().to(device)
    each = retrain_each(model, FEATURES, data, data, CLASSES, how)
    return {one.feature: one.predicted.cpu() for one in each}


@pytest.mark.parametrize("where", CACHES)
def test_partial_retraining_gives_the_same_on_another_device(where: str, tmp_path: Path) -> None:
    """Cuts and their checks, caches, fresh weights, training and evaluation mix no devices."""
    scratch = tmp_path if where == "memory-mapped" else None
    cache = CacheSettings(scratch=scratch, **CACHES[where])
    how = RetrainSettings(recipe=Recipe(epochs=4, batch_size=16, learning_rate=0.03), cache=cache)
    here = predictions(CPU, how)
    with OtherDevice() as there:
        elsewhere = predictions(there.device, how)
    assert [f for f in FEATURES if not torch.equal(here[f], elsewhere[f])] == []
    other = predictions(CPU, replace(how, seed=1))
    assert any(not torch.equal(here[f], other[f]) for f in FEATURES)
