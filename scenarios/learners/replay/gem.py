"""Gradient episodic memory: no step may raise the loss on what is stored of an earlier task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.examples import Examples, join
from probe.modules import mode
from probe.training.costs import bytes_of
from probe.training.evaluation import batch_size_on
from probe.training.recipe import Recipe
from scenarios.learners import base
from scenarios.learners.continual import ContinualLearner, ContinualSettings
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.replay.projection import project
from scenarios.learners.sampling import uniform
from scenarios.streams.task import Task


class GemSettings(ContinualSettings):
    """memory_per_class: examples kept of each class of a task (Murata 2020: 128 on MNIST and SVHN);
    margin: gamma, the memory strength (Lopez-Paz and Ranzato 2017: 0.5 in all experiments).
    """

    kind: Literal["gem"] = "gem"
    memory_per_class: int = Field(default=128, ge=1)
    margin: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    exemplars: None = None

    @property
    def budget(self) -> ExemplarSettings:
        return ExemplarSettings(per_class=self.memory_per_class)


class GradientEpisodicMemory(ContinualLearner):
    """Replace a gradient that would raise an earlier task's loss by one that would not.

    Each past task k has a memory: of each of its classes the examples seen last (first in, first
    out). An epoch shows the examples in random order, so that the last ones are random ones: they
    are drawn, when the task ends. At every step, g_k is the gradient of the loss on all of memory
    k; if <g, g_k> < 0 for one, the projection of g takes its place (see
    `projection`). The memory's examples are not learned beside the new ones.

    Source: Lopez-Paz and Ranzato 2017, section 3. Deviations: gamma is a lower bound of v, where
    the paper adds it to the solution: as a bound, it leads to no violated constraint. The memory's
    loss is that of the model as it is tested, in eval mode: its pass moves no batch norm, whose
    running statistics it uses, and draws no dropout. With Adam (Murata 2020), the step is no longer
    along the gradient, so that an earlier loss may rise after all.

    A step costs t passes over whole memories. Of the multiply-adds, those of the projection's sum,
    t per parameter, are not counted: the passes take three per parameter and stored example.
    """

    settings_class = GemSettings
    settings: GemSettings

    def __init__(
        self, model: nn.Module, recipe: Recipe, settings: base.Settings, seed: int
    ) -> None:
        super().__init__(model, recipe, settings, seed)
        self.exemplars = None  # the memories are not replayed
        self._memories: list[Examples] = []
        self._trained: list[nn.Parameter] = []

    def begin(self, task: Task) -> None:
        super().begin(task)
        self._trained = [p for p in self.model.parameters() if p.requires_grad]

    def after_backward(self, model: nn.Module) -> None:
        if not self._memories:
            return
        gradient = self._flat(p.grad for p in self._trained)
        with mode(model, training=False):
            past = torch.stack([self._gradient_of(memory) for memory in self._memories])
        projected = project(gradient, past, self.settings.margin)
        if projected is not gradient:
            self._replace_gradients(projected)

    def end(self, task: Task) -> None:
        super().end(task)
        draw = self.stream("memory")
        self._memories.append(join([self._latest(task, label, draw) for label in task.classes]))

    def stored_bytes(self) -> int:
        return sum(bytes_of([memory.x, memory.y]) for memory in self._memories)

    def state(self) -> dict[str, Tensor]:
        if not self._memories:
            return {}
        every = join(self._memories)
        sizes = torch.tensor([len(memory) for memory in self._memories])
        return {"memory.x": every.x, "memory.y": every.y, "memory.sizes": sizes}

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        super().restore(state, past)
        self._memories = []
        if "memory.x" in state:
            sizes = state["memory.sizes"].tolist()
            parts = zip(state["memory.x"].split(sizes), state["memory.y"].split(sizes), strict=True)
            self._memories = [Examples(x, y) for x, y in parts]

    def _latest(self, task: Task, label: int, draw: torch.Generator) -> Examples:
        own = task.train.of_classes([label])
        return own.take(uniform(len(own), self.settings.memory_per_class, draw).to(own.y.device))

    def _gradient_of(self, memory: Examples) -> Tensor:
        """Return the gradient (P,) of the mean loss on a memory, a part of it at a time."""
        size = batch_size_on(memory.y.device)
        total = torch.zeros((), device=memory.y.device)
        bf16 = self.recipe.precision == "bf16"
        for x, y in zip(memory.x.split(size), memory.y.split(size), strict=True):
            with torch.autocast(y.device.type, torch.bfloat16, enabled=bf16):
                # A copy: a model may write into its input.
                loss = self.classification(self.model(x.clone()), y) * (len(y) / len(memory))
            parts = torch.autograd.grad(loss, self._trained, allow_unused=True)
            total = total + self._flat(parts)
        return total

    def _replace_gradients(self, gradient: Tensor) -> None:
        parts = gradient.split([p.numel() for p in self._trained])
        for p, part in zip(self._trained, parts, strict=True):
            # A copy lies in memory as its parameter does, which fused optimizers rely on.
            p.grad = torch.empty_like(p) if p.grad is None else p.grad
            p.grad.copy_(part.view_as(p))

    def _flat(self, gradients: Iterable[Tensor | None]) -> Tensor:
        """Return the gradients of the trained parameters as one vector, 0 where there is none."""
        pairs = zip(self._trained, gradients, strict=True)
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for p, g in pairs])
