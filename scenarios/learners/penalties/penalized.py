"""What EWC, SI and RWalk share: a quadratic penalty beside the loss."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from scenarios.learners.continual import ContinualLearner, ContinualSettings
from scenarios.learners.penalties.quadratic import Quadratic


class RegularisedSettings(ContinualSettings):
    """strength: what the penalty is multiplied by, lambda or c; 0 is fine-tuning."""

    strength: float = Field(ge=0, allow_inf_nan=False)


class RegularisedLearner(ContinualLearner):
    """A learner that minimizes the loss + strength x share x penalty.

    `penalty` is None while there is nothing to hold. Its gradient is added to that of the batch's
    own loss: a learner that wants the latter reads it before. The optimizer sees the sum.
    """

    settings: RegularisedSettings
    share: ClassVar[float] = 1.0

    penalty: Quadratic | None = None

    def after_backward(self, model: nn.Module) -> None:
        if self.penalty:
            self.penalty.add_gradient(model, self.settings.strength * self.share)

    def carried(self) -> dict[str, Tensor]:
        return self.penalty.to_tensors() if self.penalty else {}

    def take_over(self, carried: dict[str, Tensor]) -> None:
        self.penalty = Quadratic.of_tensors(carried)
