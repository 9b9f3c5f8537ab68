"""A self-organizing map with a linear read-out on its activity, learned one example at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from probe.training.costs import OpsMeter
from scenarios.learners.kemker.som import SelfOrganizingMap, Steps


class OnlineMap:
    """Trains a map and the read-out on its activity, in blocks of examples (B, D) in their order.

    The read-out is a linear regression of the one-hot label t on the activity z: after each
    example W <- W + rate (t - y) z^T and b <- b + rate (t - y), with y = W z + b, a step down the
    gradient of |t - y|^2 / 2 (least mean squares). Both layers move from what they were before the
    example. The meter counts U D multiply-adds for looking at an example, as many for moving the
    prototypes, and K U each for the scores and for moving the read-out.

    som: U units on D inputs; output: K outputs on the U activities; readout_rate: above 0.
    """

    def __init__(
        self, som: SelfOrganizingMap, output: nn.Linear, readout_rate: float, meter: OpsMeter
    ) -> None:
        self._som, self._output = som, output
        self._rate, self._meter = readout_rate, meter
        self._lattice = som.lattice()

    def shares(self, rate: float, radius: float) -> Tensor:
        """Return (U, U) by winner: the share of the way that each prototype moves.

        rate: that of the winner, 0 to 1; radius: of its neighbourhood on the lattice, above 0.
        """
        return (self._lattice * (-0.5 / radius**2)).exp_().mul_(rate)

    @torch.no_grad()
    def organize(self, x: Tensor, rates: Sequence[float], radii: Sequence[float]) -> None:
        """Train the map alone on examples (B, D), with a rate and a radius for each of the B."""
        steps, share = Steps(self._som, x), torch.empty_like(self._lattice[0])
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
        """Train both layers on the examples that are novel when it is their turn.

        x: (B, D); y: (B,) labels; shares: (U, U) of `shares`. Novel is an example with a margin
        (see `margins`) below the threshold, without a threshold every one; the others change
        nothing. Return the numbers of the novel ones in the block, from 0.
        """
        weight, bias = self._output.weight, self._output.bias
        steps = Steps(self._som, x)
        targets = torch.eye(len(bias), dtype=bias.dtype, device=bias.device)
        novel = []
        for k, label in enumerate(y.tolist()):
            # One example after the other: whether it is novel depends on those before it.
            squared = steps.squared_distances(k)
            activity = self._som.activity(squared)
            scores = torch.addmv(bias, weight, activity)
            if threshold is not None and _margin(scores.tolist(), label) >= threshold:
                continue
            novel.append(k)
            # t - y; the step of both layers is from what they were before the example.
            error = scores.neg_().add_(targets[label])
            weight.addr_(error, activity, alpha=self._rate)
            bias.add_(error, alpha=self._rate)
            steps.move(k, shares[int(squared.argmin())])
        steps.write()
        # Looking at each example, and moving for those that are novel.
        spent = self._som.prototypes.numel() + weight.numel()
        self._meter.add((len(x) + len(novel)) * spent)
        return novel

    @torch.no_grad()
    def margins(self, x: Tensor, y: Tensor) -> Tensor:
        """Return (B,) how far the output of each example's label is above the largest other one.

        x: (B, D); y: (B,) labels.
        It is the difference between the two largest outputs where the prediction is right, and
        negative where it is wrong.
        """
        self._meter.add(len(x) * (self._som.prototypes.numel() + self._output.weight.numel()))
        scores: Tensor = self._output(self._som(x))
        # The largest output but the label's.
        own = scores.gather(1, y[:, None])
        return (own - scores.scatter(1, y[:, None], -torch.inf).amax(1, True)).squeeze(1)


def decayed(first: float, last: float, part: float) -> float:
    """Return the value of an exponential decay from `first` to `last` after a part of it, 0 to 1.

    >>> round(decayed(0.1, 0.001, 0.5), 6)
    0.01
    """
    return first * math.pow(last / first, part)


def _margin(scores: list[float], label: int) -> float:
    own = scores.pop(label)
    largest: float = max(scores, default=-math.inf)
    return own - largest
