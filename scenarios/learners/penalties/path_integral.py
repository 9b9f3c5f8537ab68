"""The path integral over training steps, from which SI and RWalk take their importance."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn


class PathIntegral:
    """The sum of -g_i (theta_i after - theta_i before) over training steps, for every parameter i.

    g is the gradient when `before_step` is called. Over small steps the sums of all parameters add
    up to the drop of the loss that it is the gradient of. Only parameters that require gradients
    count.

    Source: Zenke, Poole and Ganguli 2017, equation 3.
    """

    def __init__(self, model: nn.Module) -> None:
        self._parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._start, self._before = (
            {n: p.detach().clone() for n, p in self._parameters.items()} for _ in range(2)
        )
        self._gradient, self._drop = (
            {n: torch.zeros_like(p) for n, p in self._parameters.items()} for _ in range(2)
        )

    @torch.no_grad()
    def before_step(self) -> None:
        """Copy the gradients, to which a penalty adds before the step."""
        for name, p in self._parameters.items():
            if p.grad is None:
                self._gradient[name].zero_()
            else:
                self._gradient[name].copy_(p.grad)

    @torch.no_grad()
    def after_step(self) -> None:
        """Add the drop of the loss from the last parameters to the present ones."""
        for name, p in self._parameters.items():
            # In place, before - after: no minus, and nothing allocated.
            step = self._before[name].sub_(p)
            self._drop[name].addcmul_(self._gradient[name], step)
            self._before[name].copy_(p)

    def so_far(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Yield each parameter's name, the drop of the loss, and its distance from the start.

        Later steps overwrite the drop.
        """
        for name, p in self._parameters.items():
            yield name, self._drop[name], p.detach() - self._start[name]

    def restart(self) -> None:
        """Start from the present parameters, with no drop."""
        for name, before in self._before.items():
            self._start[name].copy_(before)
            self._drop[name].zero_()
