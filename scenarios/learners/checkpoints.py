"""The learner of `probe model`: networks trained elsewhere, given as files."""

from __future__ import annotations

from typing import Literal

from scenarios.learners import base
from scenarios.learners.given import GivenSettings


class CheckpointsSettings(GivenSettings):
    """The files of the networks."""

    kind: Literal["checkpoints"] = "checkpoints"


class GivenLearner(base.Learner):
    """Networks given as files, one for each number of tasks learned."""

    settings_class = CheckpointsSettings
