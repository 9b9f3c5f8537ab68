"""Fine-tuning: plain training on each task, the lower bound of every comparison."""

from typing import Literal

from scenarios.learners import base


class FinetuneSettings(base.Settings):
    """Fine-tuning has no settings."""

    kind: Literal["finetune"] = "finetune"


class Finetune(base.Learner):
    """Train on each task as it comes and do nothing about forgetting (FT, naive, vanilla)."""
