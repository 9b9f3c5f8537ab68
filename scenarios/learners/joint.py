"""Joint training on many tasks at once: the upper bounds `offline` and `cumulative`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from probe.examples import Examples, join
from probe.fitting import Recipe
from probe.initialise import initialise
from probe.randomness import stream
from probe.resources import bytes_of
from scenarios.learners import base
from scenarios.task import Task


class OfflineSettings(base.Settings):
    """Offline training has no settings."""

    kind: Literal["offline"] = "offline"


class Offline(base.Learner):
    """Train once on all tasks together (Murata 2020, section 3); knows no task order."""

    offline = True


class CumulativeSettings(base.Settings):
    """Cumulative training has no settings."""

    kind: Literal["cumulative"] = "cumulative"


class Cumulative(base.Learner):
    """At every task, train from scratch on all tasks so far (Diaz-Rodriguez 2018, appendix A).

    Each start has the same fresh weights, those before the first task. The diagonal of its R is
    the reference of Chaudhry 2018's intransigence, under every head: all outputs compete in its
    training, whichever compete in that of the learner it is compared with.
    """

    def __init__(
        self, model: nn.Module, recipe: Recipe, settings: base.Settings, seed: int
    ) -> None:
        super().__init__(model, recipe, settings, seed)
        self._past: list[Examples] = []

    def begin(self, task: Task) -> None:
        initialise(self.model, self.recipe.init, stream(self.seed, "init"))

    def examples(self, task: Task) -> Examples:
        return join([*self._past, task.train])

    def end(self, task: Task) -> None:
        self._past.append(task.train)

    def stored_bytes(self) -> int:
        return bytes_of(tensor for past in self._past for tensor in (past.x, past.y))

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        super().restore(state, past)
        self._past = [task.train for task in past]
