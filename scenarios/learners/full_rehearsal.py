"""What learners share that store all the data they were ever given."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from probe.examples import Examples
from probe.training.costs import bytes_of
from scenarios.learners import base
from scenarios.streams.task import Task


class FullRehearsalLearner(base.Learner):
    """A learner that stores the training data of every task; `past` holds those learned so far.

    A checkpoint does without them: the tasks bring them back.
    """

    past: tuple[Examples, ...] = ()

    def end(self, task: Task) -> None:
        self.past += (task.train,)

    def stored_bytes(self) -> int:
        return bytes_of(tensor for past in self.past for tensor in (past.x, past.y))

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        super().restore(state, past)
        self.past = tuple(task.train for task in past)
