"""Online training of a self-organizing map and a linear readout on its activity."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from probe.training.costs import OpsMeter
from scenarios.learners.kemker.som import MapSteps, SelfOrganizingMap


class OnlineMap:
    """A trainer of a map and its readout, in blocks of examples (B, D) in their order.

    The readout is a linear regression of the one-hot label t on the activity z: after each example
    W <- W + rate (t - y) z^T and b <- b + rate (t - y), with y = W z + b, a step down the gradient
    of |t - y|^2 / 2 (least mean squares). Both layers step from their state before the example. The
    meter counts U D multiply-adds for distances, as many for moving the prototypes, and K U each
    for the scores and for moving the readout.

    model: its `som` has U units on D inputs, its `output` K outputs on the U activities;
    readout_rate: above 0.
    """

    def __init__(self, model: nn.Module, readout_rate: float, meter: OpsMeter) -> None:
        self._som = cast(SelfOrganizingMap, model.get_submodule("som"))
        self._output = cast(nn.Linear, model.get_submodule("output"))
        self._rate, self._meter = readout_rate, meter
        self._lattice = self._som.lattice()

    def shares(self, rate: float, radius: float) -> Tensor:
        """Return (U, U), by winner the share of the way that each prototype moves.

        rate: the winner's, 0 to 1; radius: of its neighbourhood on the lattice, above 0.
        """
        return (self._lattice * (-0.5 / radius**2)).exp_().mul_(rate)

    @torch.no_grad()
    def organize(self, x: Tensor, rates: Sequence[float], radii: Sequence[float]) -> None:
        """Train the map alone on examples (B, D), with a rate and a radius for each of the B."""
        steps, share = MapSteps(self._som, x), torch.empty_like(self._lattice[0])
        for k, (rate, radius) in enumerate(zip(rates, radii, strict=True)):
            winner = int(steps.squared_distances(k).argmin())
            torch.mul(self._lattice[winner], -0.5 / radius**2, out=share).exp_().mul_(rate)
            steps.move(k, share)
        steps.write()
        self._meter.add(2 * len(x) * self._som.prototypes.numel())

    @torch.no_grad()
    def learn(
        self, x: Tensor, y: Tensor, shares: Tensor, threshold: float | None = None
    ) -> list[int]:
        """Train both layers on the examples that are novel in their turn; return their numbers.

        x: (B, D); y: (B,) labels; shares: (U, U) of `shares`. Examples with a margin (see
        `margins`) below the threshold are novel, all without a threshold; others change nothing.
        """
        weight, bias = self._output.weight, self._output.bias
        steps = MapSteps(self._som, x)
        targets = torch.eye(len(bias), dtype=bias.dtype, device=bias.device)
        novel = []
        for k, label in enumerate(y.tolist()):
            squared = steps.squared_distances(k)
            activity = self._som.activity(squared)
            scores = torch.addmv(bias, weight, activity)
            if threshold is not None:
                others = scores.tolist()
                if others.pop(label) - max(others, default=-math.inf) >= threshold:
                    continue
            novel.append(k)
            # t - y
            error = scores.neg_().add_(targets[label])
            weight.addr_(error, activity, alpha=self._rate)
            bias.add_(error, alpha=self._rate)
            steps.move(k, shares[int(squared.argmin())])
        steps.write()
        # Distances and scores of each example, and the steps of the novel ones.
        spent = self._som.prototypes.numel() + weight.numel()
        self._meter.add((len(x) + len(novel)) * spent)
        return novel

    @torch.no_grad()
    def margins(self, x: Tensor, y: Tensor) -> Tensor:
        """Return (B,) by how much the label's output exceeds the largest other one.

        x: (B, D); y: (B,) labels. Negative where the prediction is wrong.
        """
        self._meter.add(len(x) * (self._som.prototypes.numel() + self._output.weight.numel()))
        scores: Tensor = self._output(self._som(x))
        own = scores.gather(1, y[:, None])
        return (own - scores.scatter(1, y[:, None], -torch.inf).amax(1, True)).squeeze(1)


def decayed(first: float, last: float, part: float) -> float:
    """Return the value of an exponential decay from `first` to `last` after a part of it, 0 to 1.

    >>> round(decayed(0.1, 0.001, 0.5), 6)
    0.01
    """
    return first * math.pow(last / first, part)
