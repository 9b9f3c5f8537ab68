"""How much each parameter lowered the loss on its way: a path integral over the training steps.

SI and RWalk take their importance from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn


class PathIntegral:
    """Sums up -g_i (theta_i after - theta_i before) over training steps, for every parameter i.

    g is the gradient at hand when `before_step` is called. Over small steps the sums of all
    parameters add up to the drop of the loss whose gradient it is. Only parameters that require
    gradients are followed; one without a gradient at a step has none.

    Source: Zenke, Poole and Ganguli 2017, equation 3.
    """

    def __init__(self, model: nn.Module) -> None:
        self._legs = [
            _Leg(
                name=name,
                parameter=p,
                start=p.detach().clone(),
                before=p.detach().clone(),
                gradient=torch.zeros_like(p),
                drop=torch.zeros_like(p),
            )
            for name, p in model.named_parameters()
            if p.requires_grad
        ]

    @torch.no_grad()
    def before_step(self) -> None:
        """Take note of the gradients."""
        for leg in self._legs:
            if leg.parameter.grad is None:
                leg.gradient.zero_()
            else:
                leg.gradient.copy_(leg.parameter.grad)

    @torch.no_grad()
    def after_step(self) -> None:
        """Add what the step from the last noted parameters to the present ones brought."""
        for leg in self._legs:
            # In place: before - after, so that no minus is needed and nothing allocated.
            leg.drop.addcmul_(leg.gradient, leg.before.sub_(leg.parameter))
            leg.before.copy_(leg.parameter)

    def so_far(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Yield each parameter's name, the drop of the loss, and the way made since the start.

        The two tensors have the parameter's shape; the first is overwritten by later steps.
        """
        for leg in self._legs:
            yield leg.name, leg.drop, leg.parameter.detach() - leg.start

    def restart(self) -> None:
        """Start from the present parameters, with no drop."""
        for leg in self._legs:
            leg.start.copy_(leg.before)
            leg.drop.zero_()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Leg:
    """One parameter's way; all tensors have its shape."""

    name: str
    parameter: Tensor
    start: Tensor
    before: Tensor
    gradient: Tensor
    drop: Tensor
