"""The learner of `probe model`: networks trained elsewhere, given as files."""

from __future__ import annotations

from typing import Literal

from probe.examples import Examples
from probe.training.costs import OpsMeter
from scenarios.learners import base
from scenarios.learners.given import GivenSettings
from scenarios.streams.task import Task


class CheckpointsSettings(GivenSettings):
    """The files of the networks."""

    kind: Literal["checkpoints"] = "checkpoints"


class GivenLearner(base.Learner):
    """Networks given as files, one for each number of tasks learned."""

    settings_class = CheckpointsSettings

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        raise TypeError("networks that are given are not trained")
