"""Experience replay: a random memory of each class, replayed with every batch."""

from __future__ import annotations

from typing import Literal

from scenarios.learners.catalog import learner
from scenarios.learners.continual import ClassMemorySettings, ContinualLearner


class ErSettings(ClassMemorySettings):
    """Those of `ClassMemorySettings`."""

    kind: Literal["er"] = "er"


@learner("er")
class ExperienceReplay(ContinualLearner):
    """Learn each batch together with one of equal size from the memory (naive rehearsal).

    After a task, random examples of each of its classes enter the memory for good. The replayed
    batch is drawn without repeats, is smaller while the memory is, and its examples weigh as much
    in the loss as new ones. It is fine-tuning with uniform exemplars under its own name. Source:
    Murata 2020, section 3, after Hsu et al. 2018; neither gives the replayed batch's size, ours
    equals the new one's.
    """

    settings_class = ErSettings
