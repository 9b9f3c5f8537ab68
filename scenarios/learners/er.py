"""Experience replay: a random memory of each class, replayed with every batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.examples import Examples, join
from probe.fitting import Recipe
from scenarios.learners import base
from scenarios.task import Task


class ErSettings(base.Settings):
    """memory_per_class: examples kept of each class (Murata 2020: 128 on MNIST and SVHN)."""

    kind: Literal["er"] = "er"
    memory_per_class: int = Field(default=128, ge=1)


class ExperienceReplay(base.Learner):
    """Learn each batch together with one of equal size from the memory (naive rehearsal).

    After a task, random examples of each of its classes enter the memory for good. The replayed
    batch is drawn without repeats, is smaller while the memory is, and its examples weigh as much
    in the loss as new ones. Source: Murata 2020, section 3, after Hsu et al. 2018; neither gives
    the replayed batch's size, ours equals the new one's.
    """

    settings: ErSettings

    def __init__(
        self, model: nn.Module, recipe: Recipe, settings: base.Settings, seed: int
    ) -> None:
        super().__init__(model, recipe, settings, seed)
        self._memory: Examples | None = None
        self._replay = self.stream("replay")

    def begin(self, task: Task) -> None:
        self._replay = self.stream("replay")

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self._memory is None:
            return x, y
        chosen = torch.randperm(len(self._memory), generator=self._replay)[: len(y)]
        old = self._memory.take(chosen.to(y.device))
        return torch.cat([x, old.x]), torch.cat([y, old.y])

    def end(self, task: Task) -> None:
        draw = self.stream("memory")
        kept = [
            _random(task.train.of_classes([c]), self.settings.memory_per_class, draw)
            for c in task.classes
        ]
        self._memory = join([self._memory, *kept] if self._memory else kept)

    def state(self) -> dict[str, Tensor]:
        return {"memory.x": self._memory.x, "memory.y": self._memory.y} if self._memory else {}

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        super().restore(state, past)
        self._memory = Examples(state["memory.x"], state["memory.y"]) if state else None


def _random(examples: Examples, count: int, generator: torch.Generator) -> Examples:
    chosen = torch.randperm(len(examples), generator=generator)[:count]
    return examples.take(chosen.to(examples.y.device))
