"""Exemplars: examples of earlier classes, stored within a budget."""

from collections.abc import Sequence
from typing import Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn

from probe.errors import InputError
from probe.examples import Examples, join
from probe.tasks import Task
from scenarios.learners.sampling import Strategy, choose

ReplayMode = Literal["batch", "joined"]


class ExemplarSettings(BaseModel):
    """The number of exemplars, their choice and their replay.

    per_class: of each class of each task; total: of all classes of the tasks learned, shared out
    equally and rounded down, so that earlier ones give some up as new ones come (give one of the
    two). A class that recurs counts in each task that has it. sampling: see
    `scenarios.learners.sampling`. replay: `batch` appends as many exemplars as a batch has new
    examples; `joined` adds all to the task's training data, each visited once per epoch (as iCaRL
    does). balanced: in the cross-entropy of a batch with exemplars every class weighs the same;
    else every example, so that a new class outweighs an old one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    per_class: int | None = Field(default=None, ge=1)
    total: int | None = Field(default=None, ge=1)
    sampling: Strategy = "uniform"
    replay: ReplayMode = "batch"
    balanced: bool = False

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        if (self.per_class is None) == (self.total is None):
            raise ValueError("give either per_class or total, the number of exemplars to store")
        return self

    def quota(self, classes: int) -> int:
        """Return the number of exemplars of each class; raises InputError if it is 0.

        >>> ExemplarSettings(total=20).quota(6)
        3
        """
        quota = (self.total or 0) // classes if self.per_class is None else self.per_class
        if not quota:
            raise InputError(
                f"a total of {self.total} exemplars leaves none for each of {classes} classes: "
                f"raise total, or give per_class"
            )
        return quota


class Exemplars:
    """The exemplars of each class of each task: of each the first chosen are kept the longest."""

    def __init__(self, settings: ExemplarSettings) -> None:
        self.settings = settings
        self._groups: list[Examples] = []

    @property
    def examples(self) -> Examples | None:
        """All exemplars, task after task and class after class, None if there are none."""
        return join(self._groups) if self._groups else None

    def add(self, model: nn.Module, task: Task, generator: torch.Generator) -> None:
        """Choose exemplars of a task's classes; those of earlier tasks shrink to their quota."""
        labels = _trained_classes(task)
        quota = self.settings.quota(len(self._groups) + len(labels))
        for label in labels:
            pool = task.train.of_classes([label])
            chosen = choose(self.settings.sampling, model, pool, quota, generator)
            self._groups.append(pool.take(chosen.to(pool.y.device)))
        self._groups = [
            group.take(torch.arange(min(quota, len(group)), device=group.y.device))
            for group in self._groups
        ]

    def state(self) -> dict[str, Tensor]:
        """Return the exemplars, `memory.x` (M, ...) and `memory.y` (M,), for `restore`."""
        stored = self.examples
        return {"memory.x": stored.x, "memory.y": stored.y} if stored else {}

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        """Restore the state that `state` returned after the tasks `past`."""
        self._groups = []
        if "memory.x" in state:
            there = [int((t.train.y == c).sum()) for t in past for c in _trained_classes(t)]
            sizes = [min(self.settings.quota(len(there)), count) for count in there]
            parts = state["memory.x"].split(sizes), state["memory.y"].split(sizes)
            self._groups = list(map(Examples, *parts))


def _trained_classes(task: Task) -> list[int]:
    """Return the classes of a task that it has training examples of."""
    there = set(task.train.y.tolist())
    return [label for label in task.classes if label in there]
