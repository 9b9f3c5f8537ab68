"""Small things to learn, and what is asked of every learner."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import limited, load
from scenarios.learners.base import Learner, Settings
from scenarios.networks import build_network
from scenarios.streams.split import split_by_class
from scenarios.streams.task import Task

RECIPE = Recipe(epochs=2, batch_size=16)

Make = Callable[[], Learner]


def digits(limit: int = 20) -> Sequence[Task]:
    """Five tasks of two digits, that many examples of each."""
    return split_by_class(limited(load("digits"), limit)).tasks


def colored(classes: int = 4, each: int = 6) -> list[Task]:
    """Tasks of two classes of noisy 3 x 28 x 28 images, large enough for the reduced ResNet18."""
    tasks = []
    for index, first in enumerate(range(0, classes, 2)):
        own = (first, first + 1)
        y = torch.tensor(own).repeat(each)
        x = torch.randn(2 * each, 3, 28, 28, generator=stream(index, "images"))
        data = Examples(x + y[:, None, None, None], y)
        tasks.append(Task(index=index + 1, name=str(own), classes=own, train=data, test=data))
    return tasks


def learner(
    of: type[Learner],
    settings: Settings,
    network: str = "cnn3",
    recipe: Recipe = RECIPE,
    shape: tuple[int, int, int] = (1, 8, 8),
) -> Learner:
    model = build_network(network, shape, 10)
    initialize(model, recipe.init, stream(0, "init"))
    return of(model, recipe, settings, 0)


def noisy_network() -> nn.Module:
    """A network with dropout and batch norm, for the digits."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, 20),
            nn.BatchNorm1d(20),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(20, 10),
        )


class Writing(nn.Module):
    """A hostile model: writes into its input, and keeps a value of its last pass."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layer = nn.Linear(64, 10)
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.last = self.layer(x.mul_(0.5).flatten(1))
        return self.last


def learn(own: Learner, tasks: Sequence[Task]) -> Learner:
    for task in tasks:
        own.learn(task)
    return own


def resumed(make: Make, tasks: Sequence[Task], done: int) -> tuple[Learner, Learner]:
    """Learn all tasks in one go, and with a stop after the first `done` of them."""
    whole, first, second = learn(make(), tasks), learn(make(), tasks[:done]), make()
    second.model.load_state_dict(copy.deepcopy(first.model.state_dict()))
    second.restore({name: t.clone() for name, t in first.state().items()}, tasks[:done])
    return whole, learn(second, tasks[done:])


def same(a: Learner, b: Learner) -> bool:
    """Whether both have the same model, buffers included, bit for bit."""
    own, other = a.model.state_dict(), b.model.state_dict()
    return all(torch.equal(own[name], other[name]) for name in own)


def rows(x: Tensor) -> list[tuple[float, ...]]:
    """Return the examples as things that can be compared and put into sets."""
    return [tuple(one.flatten().tolist()) for one in x]
