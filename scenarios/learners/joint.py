"""Joint training on many tasks at once: the upper bounds `offline` and `cumulative`."""

from __future__ import annotations

from typing import Literal

from probe.examples import Examples, join
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from scenarios.learners import base
from scenarios.learners.full_rehearsal import FullRehearsalLearner
from scenarios.streams.task import Task


class OfflineSettings(base.Settings):
    """Offline training has no settings."""

    kind: Literal["offline"] = "offline"


class Offline(base.Learner):
    """Train once on all tasks together (Murata 2020, section 3); knows no task order."""

    settings_class = OfflineSettings
    offline = True


class CumulativeSettings(base.Settings):
    """Cumulative training has no settings."""

    kind: Literal["cumulative"] = "cumulative"


class Cumulative(FullRehearsalLearner):
    """At every task, train from scratch on all tasks so far (Diaz-Rodriguez 2018, appendix A).

    Each start has the same fresh weights, those before the first task. The diagonal of its R is
    the reference of Chaudhry 2018's intransigence, under every head: all outputs compete in its
    training, whichever compete in that of the learner it is compared with.
    """

    settings_class = CumulativeSettings

    def begin(self, task: Task) -> None:
        initialize(self.model, self.recipe.init, stream(self.seed, "init"))

    def examples(self, task: Task) -> Examples:
        return join([*self.past, task.train])
