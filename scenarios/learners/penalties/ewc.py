"""Elastic weight consolidation: parameters stay near what earlier tasks left, by their Fisher."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field

from probe.examples import Examples
from scenarios.learners.penalties.fisher import diagonal_fisher
from scenarios.learners.penalties.quadratic import PenalizedLearner, PenalizedSettings, Quadratic
from scenarios.streams.task import Task


class EwcSettings(PenalizedSettings):
    """strength: lambda; no paper here gives one for this form of EWC, so the default is Chaudhry
    2018's for EWC++ on MNIST. fisher_examples: of how many random examples of the task the Fisher
    is the mean, None for all of them.
    """

    kind: Literal["ewc"] = "ewc"
    strength: float = Field(default=75_000.0, ge=0, allow_inf_nan=False)
    fisher_examples: int | None = Field(default=None, ge=1)


class Ewc(PenalizedLearner):
    """Minimize L + (lambda / 2) sum_j sum_i F_ji (theta_i - theta_ji)^2, one term per past task j.

    theta_j: the parameters when task j was learned; F_j: the diagonal empirical Fisher there, the
    mean over the task's own training data (stored exemplars not included) of the squared gradient
    of log p(y|x), p among the outputs that compete in training. Source: Kirkpatrick et al. 2017 as
    told by Chaudhry 2018, section 4.1 and equation 1; nothing is normalized.

    All terms together are one quadratic, exactly (see `Quadratic.plus`): the learner carries
    two copies of the parameters however many tasks were learned, not two for each task. The
    penalty and its gradient are the same up to rounding (of which Adam makes full steps where
    there is nothing else).
    """

    settings_class = EwcSettings
    settings: EwcSettings
    share: ClassVar[float] = 1 / 2
    # The penalty's gradient: the difference times the importance times lambda.
    elementwise: ClassVar[int] = 2

    def end(self, task: Task) -> None:
        super().end(task)
        generator = self.stream("fisher")
        examples = self._of_the_fisher(task.train, generator)
        fisher = diagonal_fisher(self.model, self.classification, examples, generator)
        new = Quadratic.around(self.model, fisher)
        self.penalty = self.penalty.plus(new) if self.penalty else new

    def _of_the_fisher(self, examples: Examples, generator: torch.Generator) -> Examples:
        if self.settings.fisher_examples is None:
            return examples
        chosen = torch.randperm(len(examples), generator=generator)[: self.settings.fisher_examples]
        return examples.take(chosen.to(examples.y.device))
