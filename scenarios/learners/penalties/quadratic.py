"""Quadratic penalties on the parameters, by which EWC, SI and RWalk hold what was learned."""

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
    """strength: what the penalty is multiplied by, lambda or c; 0 is fine-tuning."""

    strength: float = Field(ge=0, allow_inf_nan=False)


class PenalizedLearner(ContinualLearner):
    """A learner that minimizes the loss + strength x share x penalty.

    `penalty` is None while there is nothing to hold. Its gradient is added to that of the batch's
    own loss: a learner that wants the latter reads it before. The optimizer sees the sum.

    share: 1, or what the paper multiplies its penalty by beside the strength.
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

    importance: w, not negative; anchor: a, of the same names and shapes as the parameters;
    constant: c, 0 or more. Parameters that are not named are free. Batch norm's buffers are none,
    so they never count.

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
        """Return the penalty for leaving the model's present parameters, which are copied.

        importance: w (...) by name, each of its parameter's shape.
        """
        anchor = {n: p.detach().clone() for n, p in model.named_parameters() if n in importance}
        return cls(importance, anchor)

    @torch.no_grad()
    def value(self, model: nn.Module) -> float:
        """Return the penalty of the model's parameters, summed up in float64, 0 or more."""
        total = self.constant
        for name, p in model.named_parameters():
            if name in self.importance:
                # In float64: of many small terms, float32 would lose most.
                distance = p.double() - self.anchor[name].double()
                total += float((self.importance[name].double() * distance.square()).sum())
        return total

    @torch.no_grad()
    def add_gradient(self, model: nn.Module, scale: float) -> None:
        """Add the gradient of scale times the penalty to that of each parameter that has one."""
        for name, p in model.named_parameters():
            if p.grad is not None and name in self.importance:
                # In place, and in one pass: this runs at every step.
                p.grad.addcmul_(self.importance[name], p - self.anchor[name], value=2 * scale)

    @torch.no_grad()
    def plus(self, other: Quadratic) -> Quadratic:
        """Return the sum of two penalties on the same parameters as a single one, which is exact.

        v (t - a)^2 + w (t - b)^2 = (v + w) (t - m)^2 + v w / (v + w) (a - b)^2 for every parameter
        t, with m = (v a + w b) / (v + w).
        """
        importance, anchor = {}, {}
        constant = self.constant + other.constant
        for name, w in other.importance.items():
            v, a, b = self.importance[name], self.anchor[name], other.anchor[name]
            both = v + w
            # Where neither counts, 0 / 0: any anchor will do.
            share = torch.where(both > 0, w / both, 1.0)
            importance[name], anchor[name] = both, torch.lerp(a, b, share)
            # v w / (v + w) (a - b)^2, the part that no parameter can change.
            rest = (v * share).double() * (a.double() - b.double()).square()
            constant += float(rest.sum())
        return Quadratic(importance, anchor, constant)

    def to_tensors(self) -> dict[str, Tensor]:
        """Return all of it by name: `importance.NAME`, `anchor.NAME` (...) and `constant` ().

        NAME is the parameter's, as in `importance.output.weight`, whose shape they have.
        """
        constant = torch.tensor(self.constant, dtype=torch.float64)
        return {**by_kind(importance=self.importance, anchor=self.anchor), _CONSTANT: constant}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> Quadratic | None:
        """Return the penalty that `to_tensors` wrote, None if it is not among the tensors.

        For each parameter an importance and an anchor, each of the parameter's shape (...).
        """
        if _CONSTANT not in tensors:
            return None
        importance, anchor = of_kind(tensors, "importance"), of_kind(tensors, "anchor")
        return cls(importance, anchor, float(tensors[_CONSTANT]))
