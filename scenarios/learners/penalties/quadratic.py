"""Quadratic penalties on the parameters: what EWC, SI and RWalk keep of earlier tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

_IMPORTANCE, _ANCHOR, _CONSTANT = "importance.", "anchor.", "constant"


@dataclass(frozen=True, eq=False)
class Quadratic:
    """sum_i w_i (theta_i - a_i)^2 + c, over parameters theta given by name.

    importance: w, not negative; anchor: a, of the same shapes; constant: c, 0 or more.
    Parameters that are not named are free. Batch norm's buffers are none, so they never count.
    """

    importance: Mapping[str, Tensor]
    anchor: Mapping[str, Tensor]
    constant: float = 0.0

    @classmethod
    def around(cls, model: nn.Module, importance: Mapping[str, Tensor]) -> Quadratic:
        """Return the penalty for leaving the model's present parameters, which are copied."""
        anchor = {n: p.detach().clone() for n, p in model.named_parameters() if n in importance}
        return cls(importance, anchor)

    @torch.no_grad()
    def value(self, model: nn.Module) -> float:
        """Return the penalty of the model's parameters, summed up in float64, 0 or more."""
        total = self.constant
        for name, p in model.named_parameters():
            if name in self.importance:
                distance = p.double() - self.anchor[name].double()
                total += float((self.importance[name].double() * distance.square()).sum())
        return total

    @torch.no_grad()
    def add_gradient(self, model: nn.Module, scale: float) -> None:
        """Add the gradient of scale times the penalty to that of each parameter that has one."""
        for name, p in model.named_parameters():
            if p.grad is not None and name in self.importance:
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
            rest = (v * share).double() * (a.double() - b.double()).square()
            constant += float(rest.sum())
        return Quadratic(importance, anchor, constant)

    def to_tensors(self) -> dict[str, Tensor]:
        """Return all of it by name, such as `importance.output.weight`."""
        return {
            **{_IMPORTANCE + name: tensor for name, tensor in self.importance.items()},
            **{_ANCHOR + name: tensor for name, tensor in self.anchor.items()},
            _CONSTANT: torch.tensor(self.constant, dtype=torch.float64),
        }

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> Quadratic | None:
        """Return the penalty that `to_tensors` wrote, None if it is not among the tensors."""
        if _CONSTANT not in tensors:
            return None
        return cls(named(tensors, _IMPORTANCE), named(tensors, _ANCHOR), float(tensors[_CONSTANT]))


def named(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names start with the prefix, by the rest of their names.

    >>> named({"anchor.weight": torch.ones(1), "score.weight": torch.zeros(1)}, "anchor.")
    {'weight': tensor([1.])}
    """
    return {n.removeprefix(prefix): each for n, each in tensors.items() if n.startswith(prefix)}
