"""A map with a linear read-out as plainly as possible, to compare with; slow on purpose.

`ByUnit` walks over the units in Python; `Whole` does each formula on the whole map with numpy, on
the prototypes themselves, step after step.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from torch import nn

Array = NDArray[np.floating]


class ByUnit:
    """One vector a unit; one loop over the units for every formula."""

    def __init__(self, model: nn.Module, readout_rate: float = 1e-3) -> None:
        state = {name: tensor.numpy().copy() for name, tensor in model.state_dict().items()}
        self.prototypes, self.weight, self.bias = (
            state[name] for name in ("som.prototypes", "output.weight", "output.bias")
        )
        som = model.get_submodule("som")
        self.columns, self.width, self.readout_rate = som.columns, som.width, readout_rate

    def squared(self, x: Array) -> Array:
        return np.array([((x - w) ** 2).sum() for w in self.prototypes])

    def activity(self, squared: Array) -> Array:
        nearest = min(squared)
        mean = sum(d - nearest for d in squared) / len(squared)
        return np.array([math.exp(-(d - nearest) / (2 * self.width**2 * mean)) for d in squared])

    def margin(self, x: Array, label: int) -> float:
        scores = self.weight @ self.activity(self.squared(x)) + self.bias
        return float(scores[label] - max(np.delete(scores, label)))

    def move(self, x: Array, winner: int, rate: float, radius: float) -> None:
        for unit, w in enumerate(self.prototypes):
            down = unit // self.columns - winner // self.columns
            across = unit % self.columns - winner % self.columns
            self.prototypes[unit] = w + share(down**2 + across**2, rate, radius) * (x - w)

    def organize(self, x: Array, rate: float, radius: float) -> int:
        winner = int(self.squared(x).argmin())
        self.move(x, winner, rate, radius)
        return winner

    def learn(
        self, x: Array, label: int, rate: float, radius: float, threshold: float | None = None
    ) -> bool:
        squared = self.squared(x)
        activity = self.activity(squared)
        scores = self.weight @ activity + self.bias
        if threshold is not None and scores[label] - max(np.delete(scores, label)) >= threshold:
            return False
        error = (np.arange(len(scores)) == label) - scores
        self.weight += self.readout_rate * np.outer(error, activity)
        self.bias += self.readout_rate * error
        self.move(x, int(squared.argmin()), rate, radius)
        return True


class Whole(ByUnit):
    """Each formula on the whole map."""

    def squared(self, x: Array) -> Array:
        away = x - self.prototypes
        return np.einsum("ud,ud->u", away, away)

    def activity(self, squared: Array) -> Array:
        beyond = squared - squared.min()
        return np.exp(-beyond / (2 * self.width**2 * beyond.mean()))

    def move(self, x: Array, winner: int, rate: float, radius: float) -> None:
        unit = np.arange(len(self.prototypes))
        down = unit // self.columns - winner // self.columns
        across = unit % self.columns - winner % self.columns
        shares = rate * np.exp(-(down**2 + across**2) / (2 * radius**2))
        self.prototypes += shares[:, None].astype(x.dtype) * (x - self.prototypes)


def share(squared: float, rate: float, radius: float) -> float:
    """The share of the way that a unit moves, from its squared lattice distance to the winner."""
    return rate * math.exp(-squared / (2 * radius**2))
