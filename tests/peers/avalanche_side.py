"""Avalanche's side: its own strategy and plugins, on our batches."""

from typing import Any

import torch
from avalanche.benchmarks import tensors_benchmark
from avalanche.training.supervised import Naive
from torch import nn

from probe.seeding import global_stream, stream
from probe.tasks import Scenario
from probe.training.loop import Recipe


class Avalanche:
    """`Naive` with plugins: plain training on each experience, and what the plugins add.

    It takes our batches one by one, in the only epoch of a task; the optimizer's state starts anew
    with each, as ours does.
    """

    def __init__(
        self, model: nn.Module, recipe: Recipe, plugins: list[Any], scenario: Scenario, seed: int
    ) -> None:
        self.model, self._seed = model, seed
        self._strategy = Naive(
            model=model,
            optimizer=torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True),
            criterion=nn.CrossEntropyLoss(),
            train_mb_size=recipe.batch_size,
            train_epochs=recipe.epochs,
            plugins=plugins,
            evaluator=None,
        )
        train, test = [], []
        for position, task in enumerate(scenario.tasks):
            draw = stream(seed, "batches", position)
            torch.randint(2**62, (), generator=draw)  # our loop seeds dropout with it
            ours = task.train.take(torch.randperm(len(task.train), generator=draw))
            train.append([ours.x, ours.y])
            test.append([task.test.x, task.test.y])
        numbers = [0] * len(train)
        self._experiences = list(tensors_benchmark(train, test, task_labels=numbers).train_stream)

    def learn(self, position: int) -> None:
        # It draws from torch's global generator.
        with global_stream(stream(self._seed, "avalanche", position)):
            self._strategy.train(
                self._experiences[position], shuffle=False, reset_optimizer_state=True
            )
