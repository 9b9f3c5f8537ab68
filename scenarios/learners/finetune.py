"""Fine-tuning, the lower bound of every comparison."""

from typing import Literal

from scenarios.learners.catalog import learner
from scenarios.learners.continual import ContinualLearner, ContinualSettings


class FinetuneSettings(ContinualSettings):
    """Those of all continual learners."""

    kind: Literal["finetune"] = "finetune"


@learner("finetune")
class Finetune(ContinualLearner):
    """Fine-tuning (FT, naive): plain training on each task in turn; Chaudhry 2018's Vanilla.

    With exemplars it is their Vanilla-S.
    """

    settings_class = FinetuneSettings
