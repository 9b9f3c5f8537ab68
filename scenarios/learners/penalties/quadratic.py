"""Quadratic penalties on the parameters, as in EWC, SI and RWalk."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from probe.batch import Named
from scenarios.learners.continual import ContinualLearner


class PenalizedLearner(ContinualLearner):
    """A learner that minimizes the loss + strength x share x penalty.

    The penalty's gradient is added to that of the batch's loss, which a learner can
    read beforehand.

    Attributes:
        share: The factor that the paper has besides the strength, such as 1/2.
        penalty: The penalty, None before the first task is learned.
    """

    # With `strength`, the factor of the penalty: lambda or c; 0 is fine-tuning.
    settings: Any
    share = 1.0
    penalty: "Quadratic | None" = None

    @torch.no_grad()
    def after_backward(self, model: nn.Module) -> None:
        """Add the penalty's gradient to that of each parameter that has one."""
        if not self.penalty:
            return
        weights = self.penalty.importance
        anchor = self.penalty.anchor
        scale = 2 * self.settings.strength * self.share
        for name, p in model.named_parameters():
            if p.grad is not None and name in weights:
                # In one pass, as it runs at every step.
                p.grad.addcmul_(weights[name], p - anchor[name], value=scale)

    def carried(self) -> Named:
        """Return the penalty's importance, anchor and constant."""
        if not self.penalty:
            return {}
        penalty = self.penalty
        tensors = by_kind(importance=penalty.importance, anchor=penalty.anchor)
        tensors["constant"] = torch.tensor(penalty.constant, dtype=torch.float64)
        return tensors

    def take_over(self, carried: Named) -> None:
        """Restore the penalty."""
        if carried:
            self.penalty = Quadratic(
                of_kind(carried, "importance"),
                of_kind(carried, "anchor"),
                float(carried["constant"]),
            )


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A penalty sum_i w_i (theta_i - a_i)^2 + c on parameters theta, given by name.

    Parameters that are not named are not penalized.

    Attributes:
        importance: The weights w by parameter name, 0 or more.
        anchor: The anchors a by parameter name, with the parameters' shapes.
        constant: The constant c, 0 or more.

    >>> a, b = (Quadratic({"w": torch.ones(1)}, {"w": torch.tensor([at])}) for at in (0.0, 2.0))
    >>> a.plus(b)
    Quadratic(importance={'w': tensor([2.])}, anchor={'w': tensor([1.])}, constant=2.0)
    """

    importance: Mapping[str, Tensor]
    anchor: Mapping[str, Tensor]
    constant: float = 0.0

    @classmethod
    def around(cls, model: nn.Module, importance: Mapping[str, Tensor]) -> "Quadratic":
        """Return the penalty around a copy of the model's present parameters.

        Args:
            model: The model.
            importance: The weights w by parameter name.

        Returns:
            The penalty.
        """
        anchor = {
            name: parameter.detach().clone()
            for name, parameter in model.named_parameters()
            if name in importance
        }
        return cls(importance, anchor)

    @torch.no_grad()
    def plus(self, other: "Quadratic") -> "Quadratic":
        """Return the exact sum of two penalties on the same parameters.

        v (t - a)^2 + w (t - b)^2 = (v + w) (t - m)^2 + v w / (v + w) (a - b)^2 for
        every parameter t, with m = (v a + w b) / (v + w).
        """
        importance = {}
        anchor = {}
        constant = self.constant + other.constant
        for name, w in other.importance.items():
            v = self.importance[name]
            a = self.anchor[name]
            b = other.anchor[name]
            weight = v + w
            # 0 / 0 where neither counts: any anchor will do.
            share = torch.where(weight > 0, w / weight, 1.0)
            importance[name] = weight
            anchor[name] = torch.lerp(a, b, share)
            squared_distance = (a.double() - b.double()).square()
            constant += float(((v * share).double() * squared_distance).sum())
        return Quadratic(importance, anchor, constant)


def trained_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters of a model that are trained, by name."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def zeros_for(tensors: Mapping[str, Tensor]) -> Named:
    """Return zeros in the form of each tensor, by name."""
    return {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}


def by_kind(**kinds: Mapping[str, Tensor]) -> Named:
    """Return tensors of parameters, of several kinds, named KIND.PARAMETER.

    >>> by_kind(anchor={"weight": torch.ones(1)}, score={"weight": torch.zeros(1)})
    {'anchor.weight': tensor([1.]), 'score.weight': tensor([0.])}
    """
    tensors: Named = {}
    for kind, named in kinds.items():
        tensors |= {f"{kind}.{name}": tensor for name, tensor in named.items()}
    return tensors


def of_kind(tensors: Mapping[str, Tensor], kind: str) -> Named:
    """Select the tensors of one kind.

    Args:
        tensors: The tensors by KIND.PARAMETER, see `by_kind`.
        kind: The kind.

    Returns:
        The tensors by parameter.

    >>> of_kind({"anchor.weight": torch.ones(1), "score.weight": torch.zeros(1)}, "anchor")
    {'weight': tensor([1.])}
    """
    prefix = f"{kind}."
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
