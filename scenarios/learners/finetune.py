"""Fine-tuning: plain training on each task, the lower bound of every comparison."""

from typing import Literal

from scenarios.learners.catalog import learner
from scenarios.learners.continual import ContinualLearner, ContinualSettings


class FinetuneSettings(ContinualSettings):
    """Fine-tuning has no settings of its own."""

    kind: Literal["finetune"] = "finetune"


@learner("finetune")
class Finetune(ContinualLearner):
    """Train on each task as it comes and do nothing about forgetting (FT, naive, vanilla).

    With exemplars it is Chaudhry 2018's Vanilla-S.
    """

    settings_class = FinetuneSettings
