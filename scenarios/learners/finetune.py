"""Fine-tuning, the lower bound of every comparison."""

from probe.extensions import learner
from scenarios.learners.continual import ContinualLearner


@learner("finetune")
class Finetune(ContinualLearner):
    """Fine-tuning (FT, naive): plain training on each task in turn; Chaudhry 2018's Vanilla.

    With exemplars it is their Vanilla-S.
    """

    by_scores = True
    first_task = "cross-entropy"
