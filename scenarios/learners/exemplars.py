"""Exemplars: examples of earlier classes, stored within a budget."""

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

    per_class: of each class; total: of all classes seen, shared out equally and rounded down, so
    that earlier classes give some up as new ones come (give one of the two). sampling: see
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
    """The exemplars of each class seen, in order of choice: the first are kept the longest."""

    def __init__(self, settings: ExemplarSettings) -> None:
        self.settings = settings
        self._of_class: dict[int, Examples] = {}

    @property
    def examples(self) -> Examples | None:
        """All exemplars, class after class as first met, None if there are none."""
        return join(list(self._of_class.values())) if self._of_class else None

    def add(self, model: nn.Module, task: Task, generator: torch.Generator) -> None:
        """Choose exemplars of a task's classes; those of other classes shrink to their quota.

        A class met again is chosen anew, from its exemplars and the new examples.
        """
        # A class met again counts once.
        quota = self.settings.quota(len({*self._of_class, *task.classes}))
        for label in task.classes:
            pool = task.train.of_classes([label])
            if label in self._of_class:
                # Chosen first means kept longest: reversed, so that a queue drops the oldest.
                old = self._of_class[label]
                reverse = torch.arange(len(old)).flip(0).to(old.y.device)
                pool = join([old.take(reverse), pool])
            chosen = choose(self.settings.sampling, model, pool, quota, generator)
            self._of_class[label] = pool.take(chosen.to(pool.y.device))
        for label, examples in self._of_class.items():
            first = torch.arange(min(quota, len(examples)), device=examples.y.device)
            self._of_class[label] = examples.take(first)

    def state(self) -> dict[str, Tensor]:
        """Return the exemplars, `memory.x` (M, ...) and `memory.y` (M,), for `restore`."""
        kept = self.examples
        return {"memory.x": kept.x, "memory.y": kept.y} if kept else {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore the state that `state` returned."""
        self._of_class = {}
        if "memory.x" in state:
            kept = Examples(state["memory.x"], state["memory.y"])
            labels = dict.fromkeys(kept.y.tolist())
            self._of_class = {label: kept.of_classes([label]) for label in labels}
