"""Experience replay: a random memory of each class, replayed with every batch."""

from probe.extensions import learner
from scenarios.learners.continual import ClassMemorySettings, ContinualLearner


@learner("er")
class ExperienceReplay(ContinualLearner):
    """Experience replay, or naive rehearsal (Murata 2020, after Hsu et al. 2018).

    Each batch is learned together with one of equal size from the memory, which random examples of
    each class enter for good after their task. The replayed batch has no repeats, is smaller while
    the memory is, and its examples weigh as much as new ones. It is fine-tuning with uniform
    exemplars. Neither paper gives the replayed batch's size.
    """

    settings_class = ClassMemorySettings
    by_scores = True
    first_task = "cross-entropy"
