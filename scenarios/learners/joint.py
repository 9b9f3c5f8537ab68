"""Learners to compare others with, and the base of those that store all training data."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from probe.batch import Named, tensors
from probe.examples import Examples, join
from probe.extensions import learner
from probe.modules import detached, named_state
from probe.tasks import Task
from probe.training.costs import bytes_of
from scenarios.learners import base


@learner("offline")
class Offline(base.Learner):
    """Offline training on all tasks at once: the ceiling (Murata 2020, section 3)."""

    offline = True
    by_scores = True


@learner("untrained")
class Untrained(base.Learner):
    """Fresh weights without training: the floor."""

    offline = True


class FullRehearsalLearner(base.Learner):
    """A learner that stores the training data of every task learned, as `past`.

    Checkpoints do not contain these data: they are restored from the tasks.
    """

    past: tuple[Examples, ...] = ()

    def end(self, task: Task) -> None:
        """Store the task's training data."""
        self.past += (task.train,)

    def stored_bytes(self) -> int:
        """Return the size of all stored data, in bytes."""
        return sum(bytes_of([*tensors(past.x), past.y]) for past in self.past)

    def restore(self, state: Named, past: Sequence[Task]) -> None:
        """Restore the stored data from the tasks."""
        super().restore(state, past)
        self.past = tuple(task.train for task in past)


@learner("cumulative")
class Cumulative(FullRehearsalLearner):
    """Training from scratch on all tasks so far (Diaz-Rodriguez 2018, appendix A).

    Every training starts from the same fresh weights. The diagonal of its R is the
    reference of Chaudhry 2018's intransigence under every head: its loss is over all
    outputs, whatever the loss of the learner it is compared with.
    """

    by_scores = True

    @classmethod
    def cannot_freeze(cls) -> str:
        """Return the reason that layers cannot be frozen."""
        return "starts every task from fresh weights"

    def __init__(self, model: nn.Module, *arguments: Any) -> None:
        super().__init__(model, *arguments)
        self._fresh_weights = detached(named_state(model))

    @torch.no_grad()
    def begin(self, task: Task) -> None:
        """Put the first, fresh weights back into the model."""
        # Copied: the model may have gone to another device since.
        for name, tensor in named_state(self.model).items():
            tensor.copy_(self._fresh_weights[name])

    def examples(self, task: Task) -> Examples:
        """Return the training data of all tasks so far."""
        return join([*self.past, task.train])
