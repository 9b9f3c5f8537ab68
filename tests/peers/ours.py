"""Our side of the comparison."""

import dataclasses

import torch
from torch import nn

from probe.seeding import stream
from probe.tasks import Scenario, Task
from probe.training.loop import Recipe
from scenarios.learners.base import Settings
from scenarios.learners.catalog import LEARNERS


class Ours:
    """A learner of the catalog that learns the tasks of a scenario by their position."""

    def __init__(
        self, model: nn.Module, recipe: Recipe, settings: Settings, scenario: Scenario, seed: int
    ) -> None:
        self.model = model
        self._learner = LEARNERS[settings.kind](model, recipe, settings, seed)
        self._tasks = scenario.tasks

    def learn(self, position: int) -> None:
        self._learner.learn(self._tasks[position])


def in_our_order(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with the training examples in the order of our first epoch."""
    tasks = [_ordered(task, position, seed) for position, task in enumerate(scenario.tasks)]
    return Scenario(name=scenario.name, kind=scenario.kind, tasks=tuple(tasks))


def _ordered(task: Task, position: int, seed: int) -> Task:
    draw = stream(seed, "batches", position)
    torch.randint(2**62, (), generator=draw)  # our loop seeds dropout with it
    order = torch.randperm(len(task.train), generator=draw)
    return dataclasses.replace(task, train=task.train.take(order))
