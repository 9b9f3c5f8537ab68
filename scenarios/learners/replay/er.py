"""Experience replay: a random memory of each class, replayed with every batch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scenarios.learners.continual import ContinualLearner, ContinualSettings
from scenarios.learners.exemplars import ExemplarSettings


class ErSettings(ContinualSettings):
    """memory_per_class: examples kept of each class (Murata 2020: 128 on MNIST and SVHN)."""

    kind: Literal["er"] = "er"
    memory_per_class: int = Field(default=128, ge=1)
    exemplars: None = None

    @property
    def budget(self) -> ExemplarSettings:
        return ExemplarSettings(per_class=self.memory_per_class)


class ExperienceReplay(ContinualLearner):
    """Learn each batch together with one of equal size from the memory (naive rehearsal).

    After a task, random examples of each of its classes enter the memory for good. The replayed
    batch is drawn without repeats, is smaller while the memory is, and its examples weigh as much
    in the loss as new ones. It is fine-tuning with uniform exemplars under its own name. Source:
    Murata 2020, section 3, after Hsu et al. 2018; neither gives the replayed batch's size, ours
    equals the new one's.
    """

    settings_class = ErSettings
