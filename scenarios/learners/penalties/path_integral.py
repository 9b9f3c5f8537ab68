"""How much each parameter lowered the loss on its way: a path integral over the training steps.

SI and RWalk take their importance from it.
"""

from __future__ import annotations

from collections.abc import Iterator

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
        self._parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        # All by name, of their parameter's shape: where it was at the start and before the step.
        self._start, self._before = (
            {n: p.detach().clone() for n, p in self._parameters.items()} for _ in range(2)
        )
        self._gradient, self._drop = (
            {n: torch.zeros_like(p) for n, p in self._parameters.items()} for _ in range(2)
        )

    @torch.no_grad()
    def before_step(self) -> None:
        """Take note of the gradients."""
        for name, p in self._parameters.items():
            # Copied: a penalty adds to the gradient before the step.
            if p.grad is None:
                self._gradient[name].zero_()
            else:
                self._gradient[name].copy_(p.grad)

    @torch.no_grad()
    def after_step(self) -> None:
        """Add what the step from the last noted parameters to the present ones brought."""
        for name, p in self._parameters.items():
            # In place: before - after, so that no minus is needed and nothing allocated.
            step = self._before[name].sub_(p)
            self._drop[name].addcmul_(self._gradient[name], step)
            self._before[name].copy_(p)

    def so_far(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Yield each parameter's name, the drop of the loss, and the way made since the start.

        The two tensors have the parameter's shape; the first is overwritten by later steps.
        """
        for name, p in self._parameters.items():
            yield name, self._drop[name], p.detach() - self._start[name]

    def restart(self) -> None:
        """Start from the present parameters, with no drop."""
        for name, before in self._before.items():
            self._start[name].copy_(before)
            self._drop[name].zero_()
