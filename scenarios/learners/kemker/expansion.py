"""The fixed expansion layer: many sparse units, of which the most and least excited ones fire."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.errors import InputError


class Expansion(nn.Module):
    """A layer of fixed random weights whose few strongest units alone fire.

    Each of the U units is joined to `connected` of the D inputs, drawn at random: half of these
    connections excite it (weight +w), half inhibit it (-w; one less if their number is odd),
    w = connected^-1/2. A unit's excitation is the weighted sum of its inputs. In every example
    `firing` units fire: the half that is most excited gives 1, the half that is most inhibited -1
    (one less if their number is odd), all others 0. Units are ranked by excitation and, where that
    is the same, by their number, lower first; those at either end of the ranking fire. So as many
    fire where all inputs are 0: the first and the last by number.

    A gradient passes through the units that fire as if their output were their excitation
    (straight through), and does not pass through the others. The weights are a buffer: training
    leaves them alone, `reset_parameters` draws them from torch's global generator.

    Source: Coop, Mishtal & Arel 2013 (connections, firing) as Kemker 2018 describes it; constant
    outputs: the "binary activations" in the abstract of Coop & Arel 2012. Not in the papers that we
    have, ours: w, the straight-through gradient.

    >>> layer = Expansion(inputs=6, units=10, connected=4, firing=4)
    >>> layer.reset_parameters()
    >>> layer(torch.rand(3, 6)).abs().sum(1)
    tensor([4., 4., 4.])
    """

    weight: Tensor

    def __init__(self, inputs: int, units: int, connected: int, firing: int) -> None:
        super().__init__()
        for what, count, most in (("connected", connected, inputs), ("firing", firing, units)):
            if not 2 <= count <= most:
                raise InputError(
                    f"an expansion layer of {units} units on {inputs} inputs must have from 2 to "
                    f"{most} {what}, got {count}: change that share or the layer's size"
                )
        self.connected, self.firing = connected, firing
        self.register_buffer("weight", torch.zeros(units, inputs))

    def reset_parameters(self) -> None:
        """Draw the connections anew."""
        places = torch.rand(self.weight.shape).argsort(1)[:, : self.connected]
        signs = torch.ones(self.connected)
        signs[-(self.connected // 2) :] = -1
        values = (signs * self.connected**-0.5).expand(len(places), -1)
        with torch.no_grad():
            self.weight.copy_(torch.zeros(self.weight.shape).scatter(1, places, values))

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, D) to the outputs (B, U) of the units: -1, 0 or 1."""
        excitation = functional.linear(x, self.weight)
        signs = self.signs(excitation.detach())
        return signs.detach() + signs.abs() * (excitation - excitation.detach())

    def signs(self, excitation: Tensor) -> Tensor:
        """Return 1 for the most excited units, -1 for the most inhibited, 0 for others: (B, U)."""
        inhibited = self.firing // 2
        top = _first(excitation, self.firing - inhibited)
        bottom = _first(-excitation.flip(1), inhibited).flip(1)
        return top.to(excitation.dtype) - bottom.to(excitation.dtype)


def fel_network(
    shape: Sequence[int], classes: int, hidden: int, units: int, connected: int, firing: int
) -> nn.Sequential:
    """Build Kemker 2018's FEL network: dense layer with ReLU, expansion layer, dense output.

    connected, firing: see `Expansion`. `initialize` gives it its weights, the fixed ones too.
    """
    inputs = int(torch.Size(shape).numel())
    stages: dict[str, nn.Module] = {
        "hidden": nn.Sequential(nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU()),
        "fel": Expansion(hidden, units, connected, firing),
        "output": nn.Linear(units, classes),
    }
    return nn.Sequential(OrderedDict(stages))


def _first(values: Tensor, count: int) -> Tensor:
    """Return which are the `count` largest of each row, of equal ones the first: (B, U) bool."""
    # A stable sort takes three times as long.
    least = values.topk(count, dim=1).values[:, -1:]
    above, level = values > least, values == least
    left = count - above.sum(1, keepdim=True)
    return above | (level & (level.cumsum(1) <= left))
