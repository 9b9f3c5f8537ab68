"""Quadratic penalties on the parameters, as in EWC, SI and RWalk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from scenarios.learners.base import by_kind, of_kind
from scenarios.learners.continual import ContinualLearner, ContinualSettings

_CONSTANT = "constant"


class PenalizedSettings(ContinualSettings):
    """strength: the penalty's factor, lambda or c; 0 is fine-tuning."""

    strength: float = Field(ge=0, allow_inf_nan=False)


class PenalizedLearner(ContinualLearner):
    """A learner that minimizes the loss + strength x share x penalty.

    `penalty` is None before the first task is learned. Its gradient is added to that of the batch's
    own loss, which a learner can read before.

    share: the paper's factor beside the strength.
    """

    settings: PenalizedSettings
    share: ClassVar[float] = 1.0
    penalty: Quadratic | None = None

    def after_backward(self, model: nn.Module) -> None:
        if self.penalty:
            self.penalty.add_gradient(model, self.settings.strength * self.share)

    def carried(self) -> dict[str, Tensor]:
        return self.penalty.to_tensors() if self.penalty else {}

    def take_over(self, carried: dict[str, Tensor]) -> None:
        self.penalty = Quadratic.of_tensors(carried)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """sum_i w_i (theta_i - a_i)^2 + c, over parameters theta given by name.

    importance: w, 0 or more; anchor: a, of the parameters' names and shapes; constant: c, 0 or
    more. Parameters without a name here are free.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> penalty = Quadratic({"weight": torch.tensor([[1.0, 3.0]])}, {"weight": torch.zeros(1, 2)})
    >>> _ = nn.init.ones_(model.weight)
    >>> penalty.value(model), penalty.plus(penalty).value(model)
    (4.0, 8.0)
    """

    importance: Mapping[str, Tensor]
    anchor: Mapping[str, Tensor]
    constant: float = 0.0

    @classmethod
    def around(cls, model: nn.Module, importance: Mapping[str, Tensor]) -> Quadratic:
        """Return the penalty around a copy of the model's present parameters."""
        anchor = {n: p.detach().clone() for n, p in model.named_parameters() if n in importance}
        return cls(importance, anchor)

    @torch.no_grad()
    def value(self, model: nn.Module) -> float:
        """Return the penalty of the model's parameters, summed up in float64, 0 or more."""
        total = self.constant
        for name, p in model.named_parameters():
            if name in self.importance:
                # float32 would lose most of many small terms.
                distance = p.double() - self.anchor[name].double()
                total += float((self.importance[name].double() * distance.square()).sum())
        return total

    @torch.no_grad()
    def add_gradient(self, model: nn.Module, scale: float) -> None:
        """Add the gradient of scale times the penalty to that of each parameter that has one."""
        for name, p in model.named_parameters():
            if p.grad is not None and name in self.importance:
                # In one pass, as it runs at every step.
                p.grad.addcmul_(self.importance[name], p - self.anchor[name], value=2 * scale)

    @torch.no_grad()
    def plus(self, other: Quadratic) -> Quadratic:
        """Return the exact sum of two penalties on the same parameters.

        v (t - a)^2 + w (t - b)^2 = (v + w) (t - m)^2 + v w / (v + w) (a - b)^2 for every parameter
        t, with m = (v a + w b) / (v + w).
        """
        importance, anchor = {}, {}
        constant = self.constant + other.constant
        for name, w in other.importance.items():
            v, a, b = self.importance[name], self.anchor[name], other.anchor[name]
            both = v + w
            # 0 / 0 where neither counts: any anchor will do.
            share = torch.where(both > 0, w / both, 1.0)
            importance[name], anchor[name] = both, torch.lerp(a, b, share)
            rest = (v * share).double() * (a.double() - b.double()).square()
            constant += float(rest.sum())
        return Quadratic(importance, anchor, constant)

    def to_tensors(self) -> dict[str, Tensor]:
        """Return `importance.NAME` and `anchor.NAME` by parameter, and `constant` ()."""
        constant = torch.tensor(self.constant, dtype=torch.float64)
        return {**by_kind(importance=self.importance, anchor=self.anchor), _CONSTANT: constant}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> Quadratic | None:
        """Return the penalty that `to_tensors` wrote, None if there is none."""
        if _CONSTANT not in tensors:
            return None
        importance, anchor = of_kind(tensors, "importance"), of_kind(tensors, "anchor")
        return cls(importance, anchor, float(tensors[_CONSTANT]))
