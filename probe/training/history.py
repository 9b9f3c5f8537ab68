"""Histories of trainings: loss and training accuracy by epoch, and convergence."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Self

from probe.analysis.statements import STUCK, UNFINISHED
from probe.immutable import immutable

_LEVEL = 0.05  # of the first loss: a training that lowers it by less had no effect
_LITTLE = 0.01  # nats: below it a loss is as good as level
# From the study in docs/believe.md.
_FALL = 0.003  # nats: an epoch of a converged training lowers the loss by less
_LOW = 0.15  # nats: or the loss is below this, and has not far to fall
_RISE = 0.005  # and an epoch raises the training accuracy by less
_HIGH = 0.98  # or the training accuracy is above this


@immutable
class History:
    """The course of a training of E epochs.

    Attributes:
        losses: The E + 1 losses in nats: the loss of the first batch before any step,
            then the mean of each epoch.
        accuracies: The E training accuracies in [0, 1]: the share of an epoch's
            examples that are classified correctly while they are trained on.

    Raises:
        ValueError: The numbers cannot be those of a training, as in a corrupt file.
    """

    losses: tuple[float, ...]
    accuracies: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = self.losses + self.accuracies
        finite = all(type(x) is float and math.isfinite(x) for x in numbers)
        right = finite and 0 <= min(numbers) <= max(self.accuracies) <= 1
        if not right or len(self.losses) != len(self.accuracies) + 1:
            raise ValueError(f"no training gives {self}")

    @property
    def fall(self) -> float:
        """The decrease of the loss per epoch at the end, in nats; NaN for a single epoch."""
        return -_change(self.losses[1:])

    @property
    def rise(self) -> float:
        """The increase of the training accuracy per epoch at the end; NaN for a single epoch."""
        return _change(self.accuracies)

    @property
    def converged(self) -> bool:
        """Whether more epochs would change little; see docs/believe.md for the thresholds.

        It is False for a single epoch that leaves something to learn, which cannot show
        convergence, and for a training without effect.
        """
        # A loss that rises by ten times as much diverges.
        level = -10 * _FALL < self.fall < _FALL or self.losses[-1] < _LOW
        learned = self.rise < _RISE or self.accuracies[-1] >= _HIGH
        return level and learned and not never_left(self.losses)

    def until(self, epoch: int) -> Self:
        """Return the history up to an epoch, 1 to E."""
        return replace(
            self, losses=self.losses[: epoch + 1], accuracies=self.accuracies[:epoch]
        )


def _change(values: Sequence[float]) -> float:
    """Return the change per epoch at the end, NaN for a single epoch.

    It compares the mean of the last fifth of the epochs with that of the fifth before, as
    dropout makes single epochs fluctuate by more.

    >>> _change([2.0, 1.0, 0.75]), _change([5, 5, 5, 5, 5, 5, 3.0, 1.0, 2.0, 0.0])
    (-0.25, -0.5)
    """
    fifth = max(1, len(values) // 5)
    before = values[-2 * fifth : -fifth]
    last = values[-fifth:]
    return (fmean(last) - fmean(before)) / fifth if before else math.nan


def notes_of(history: History) -> list[str]:
    """Return a note if a training did not converge, or had no effect; none for a single epoch.

    >>> notes_of(History(losses=(2.3, 1.65, 1.6), accuracies=(0.58, 0.6)))[0].split(": ")[1]
    'loss 1.60 (-0.050 nats an epoch), training accuracy 60.0 % (+2.0 points an epoch)'
    >>> notes_of(History(losses=(2.3, 0.065, 0.06), accuracies=(0.985, 0.986)))
    []
    """
    if never_left(history.losses) and history.rise < _RISE:
        return [STUCK]
    if history.converged or math.isnan(history.fall):
        return []
    loss = f"loss {history.losses[-1]:.2f} ({-history.fall:+.3f} nats an epoch)"
    accuracy = (
        f"{100 * history.accuracies[-1]:.1f} % ({100 * history.rise:+.1f} points an "
        "epoch)"
    )
    return [f"{UNFINISHED}: {loss}, training accuracy {accuracy}"]


def never_left(losses: Sequence[float]) -> bool:
    """Return whether a training of two epochs or more had no effect; see `History.losses`.

    >>> never_left([2.303, 2.31, 2.302]), never_left([])
    (True, False)
    """
    return len(losses) > 2 and losses[-1] > max((1 - _LEVEL) * losses[0], _LITTLE)
