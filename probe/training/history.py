"""Histories of trainings: loss and training accuracy by epoch, and convergence."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.modules import named_state
from probe.training.loop import Objective

_LEVEL = 0.05  # of the loss: an epoch that lowers it by less has converged
_LITTLE = 0.01  # nats: below it a loss is as good as level


@dataclass(frozen=True, kw_only=True)
class History:
    """The course of a training of E epochs.

    losses: in nats, E + 1: that of the first batch before any step, then the mean of each epoch;
    accuracies: E shares in [0, 1] of an epoch's examples, as classified when trained on. Raises
    ValueError for numbers that no training gives.
    """

    losses: tuple[float, ...]
    accuracies: tuple[float, ...]

    def __post_init__(self) -> None:
        losses = all(type(x) is float and math.isfinite(x) and x >= 0 for x in self.losses)
        accuracies = all(type(x) is float and 0 <= x <= 1 for x in self.accuracies)
        if not (losses and accuracies and len(self.losses) == len(self.accuracies) + 1 > 1):
            raise ValueError(f"no training gives {self}")

    def until(self, epoch: int) -> History:
        """Return the history up to an epoch, 1 to E."""
        return History(losses=self.losses[: epoch + 1], accuracies=self.accuracies[:epoch])


class Watched(Objective):
    """Plain cross-entropy, with a record of the course of training.

    kept: after which epochs, from 1, the model's parameters and buffers are copied into `states`,
    by epoch and name; `probe.modules.restore` gives them back.
    """

    def __init__(self, kept: Collection[int] = ()) -> None:
        self._kept = kept
        self._right: list[Tensor] = []
        self._accuracies: list[float] = []
        self.states: dict[int, dict[str, Tensor]] = {}

    @property
    def history(self) -> History:
        """The history until now, once an epoch is over."""
        return History(losses=self.losses, accuracies=tuple(self._accuracies))

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the mean cross-entropy of logits (B, K), and remember which were right."""
        logits = model(x)
        self._right.append(logits.detach().argmax(1) == y)
        return functional.cross_entropy(logits, y)

    def after_epoch(self, model: nn.Module, losses: Sequence[float]) -> None:
        """Add the epoch to the history."""
        super().after_epoch(model, losses)
        self._accuracies.append(float(torch.cat(self._right).double().mean()))
        self._right = []
        epoch = len(self._accuracies)
        if epoch in self._kept:
            state = named_state(model).items()
            self.states[epoch] = {name: value.detach().clone() for name, value in state}


def notes_of(losses: Sequence[float]) -> list[str]:
    """Return a note on a training that did not converge, or did nothing; see `History.losses`.

    A single epoch gets no note. With dropout a loss fluctuates by more than an epoch lowers it: the
    last has to be below all before.

    >>> notes_of([2.3, 1.0, 0.8])
    ['its training has not converged: the last epoch lowered the loss by more than 5 %']
    >>> notes_of([2.3, 0.1, 0.099])
    []
    """
    if never_left(losses):
        return [STUCK]
    means = losses[1:]
    if len(means) < 2:
        return []
    least = min(means[:-1])
    return [_FALLING] if least - means[-1] > max(_LEVEL * least, _LITTLE) else []


def never_left(losses: Sequence[float]) -> bool:
    """Return whether a training of two epochs or more had no effect; see `History.losses`.

    >>> never_left([2.303, 2.31, 2.302]), never_left([])
    (True, False)
    """
    return len(losses) > 2 and losses[-1] > max((1 - _LEVEL) * losses[0], _LITTLE)


_FALLING = "its training has not converged: the last epoch lowered the loss by more than 5 %"
STUCK = "its training had no effect: the loss stayed at that of its first batch"
"""The note on a training without effect."""
