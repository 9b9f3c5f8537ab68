"""Networks that somebody has trained elsewhere: a learner that is given and learns nothing here."""

from __future__ import annotations

from typing import Literal

from probe.examples import Examples
from probe.training.costs import OpsMeter
from scenarios.learners import base
from scenarios.learners.catalog import learner
from scenarios.learners.given import GivenSettings
from scenarios.streams.task import Task


class CheckpointsSettings(GivenSettings):
    """The networks are those of files, see `probe model`."""

    kind: Literal["checkpoints"] = "checkpoints"


@learner("checkpoints")
@learner("checkpoints")
class Checkpoints(base.Learner):
    """Networks given as files, one for each number of tasks learned; made by `probe model`."""

    settings_class = CheckpointsSettings

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        raise TypeError("networks that are given are not trained")
