"""A map with a linear read-out as plainly as possible, to compare with; slow on purpose.

`ByUnit` walks over the units in Python; `Whole` does each formula on the whole map with
numpy, on the prototypes themselves, step after step. `sessions` are those of GeppNet
and GeppNet+STM, on joined data.
"""

import math
from collections import deque

import numpy as np
import torch

from probe.examples import join
from probe.seeding import stream
from scenarios.learners.kemker.geppnet import GeppnetStmSettings


class ByUnit:
    """One vector a unit; one loop over the units for every formula."""

    def __init__(self, model, readout_rate=1e-3):
        state = {
            name: tensor.numpy().copy() for name, tensor in model.state_dict().items()
        }
        self.prototypes, self.weight, self.bias = (
            state[name] for name in ("som.prototypes", "output.weight", "output.bias")
        )
        som = model.get_submodule("som")
        self.columns = som.columns
        self.width = som.width
        self.readout_rate = readout_rate

    def squared(self, x):
        return np.array([((x - w) ** 2).sum() for w in self.prototypes])

    def activity(self, squared):
        nearest = min(squared)
        mean = sum(d - nearest for d in squared) / len(squared)
        return np.array(
            [math.exp(-(d - nearest) / (2 * self.width**2 * mean)) for d in squared]
        )

    def margin(self, x, label):
        scores = self.weight @ self.activity(self.squared(x)) + self.bias
        return float(scores[label] - max(np.delete(scores, label)))

    def move(self, x, winner, rate, radius):
        for unit, w in enumerate(self.prototypes):
            down = unit // self.columns - winner // self.columns
            across = unit % self.columns - winner % self.columns
            self.prototypes[unit] = w + share(down**2 + across**2, rate, radius) * (
                x - w
            )

    def organize(self, x, rate, radius):
        winner = int(self.squared(x).argmin())
        self.move(x, winner, rate, radius)
        return winner

    def learn(self, x, label, rate, radius, threshold=None):
        squared = self.squared(x)
        activity = self.activity(squared)
        scores = self.weight @ activity + self.bias
        if (
            threshold is not None
            and scores[label] - max(np.delete(scores, label)) >= threshold
        ):
            return False
        error = (np.arange(len(scores)) == label) - scores
        self.weight += self.readout_rate * np.outer(error, activity)
        self.bias += self.readout_rate * error
        self.move(x, int(squared.argmin()), rate, radius)
        return True


class Whole(ByUnit):
    """Each formula on the whole map."""

    def squared(self, x):
        away = x - self.prototypes
        return np.einsum("ud,ud->u", away, away)

    def activity(self, squared):
        beyond = squared - squared.min()
        return np.exp(-beyond / (2 * self.width**2 * beyond.mean()))

    def move(self, x, winner, rate, radius):
        unit = np.arange(len(self.prototypes))
        down = unit // self.columns - winner // self.columns
        across = unit % self.columns - winner % self.columns
        shares = rate * np.exp(-(down**2 + across**2) / (2 * radius**2))
        self.prototypes += shares[:, None].astype(x.dtype) * (x - self.prototypes)


def share(squared, rate, radius):
    """The share of the way that a unit moves, from its squared lattice distance to the winner."""
    return rate * math.exp(-squared / (2 * radius**2))


def sessions(model, settings, tasks):
    """Learn all tasks, the first as the base session."""
    plain = ByUnit(model, settings.readout_rate)
    base(plain, settings, drawn(tasks[:1], settings.base_iterations))
    for done in range(2, len(tasks) + 1):
        some = drawn(tasks[:done], settings.iterations)
        if isinstance(settings, GeppnetStmSettings):
            asleep(plain, settings, some)
        else:
            for x, label in some:
                plain.learn(x, label, *constant(settings), settings.threshold)
    return plain


def constant(settings):
    return settings.final_som_rate, settings.final_radius


def drawn(tasks, count):
    data = join([task.train for task in tasks])
    chosen = torch.randint(
        len(data), (count,), generator=stream(0, "draws", len(tasks) - 1)
    )
    some = data.take(chosen)
    return list(zip(some.x.flatten(1).numpy(), some.y.tolist(), strict=True))


def base(plain, settings, some):
    alone = round(settings.map_share * settings.base_iterations)
    for k, (x, label) in enumerate(some):
        if k >= alone:
            plain.learn(x, label, *constant(settings))
            continue
        first = settings.som_rate, max(settings.rows, settings.columns) / 2
        now = (
            start * (end / start) ** (k / alone)
            for start, end in zip(first, constant(settings), strict=True)
        )
        plain.organize(x, *now)


def asleep(plain, settings, some):
    memory = deque(maxlen=settings.memory)
    for k, (x, label) in enumerate(some, 1):
        held = [c for old, c in memory if np.array_equal(x, old)][-1:] == [label]
        if not held and plain.margin(x, label) < settings.threshold:
            memory.append((x, label))
        if k % settings.sleep_interval == 0 or k == len(some):
            for old, c in memory:
                plain.learn(old, c, *constant(settings))
