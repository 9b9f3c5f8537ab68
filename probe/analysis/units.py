"""Use of a feature's width: dead and dormant units, and effective rank."""

from collections.abc import Sequence

import torch
from torch import Tensor

from probe.errors import InputError

TAU = 0.025
"""The largest score of a dormant unit."""


_AT_ONCE = 2**20  # numbers that are counted together


class Activity:
    """The activity of a layer's U units at their P positions, added up over batches."""

    def __init__(self) -> None:
        self._first: Sequence[Tensor] = ()
        self._different = self._magnitude = torch.zeros((), device="cpu")

    def add(self, values: Sequence[Tensor]) -> None:
        """Add a batch: for each tensor of the layer its units' values, (B, U, P)."""
        self._first = self._first or [value[:1].clone() for value in values]
        different = []
        magnitude = []
        for value, first in zip(values, self._first, strict=True):
            units = value.shape[1]
            counts = torch.zeros(units, dtype=torch.int64, device=value.device)
            sums = torch.zeros(units, dtype=torch.float64, device=value.device)
            # In parts that fit a cache: up to five times as fast.
            for part in value.split(max(1, _AT_ONCE // max(1, first.numel()))):
                counts += (part != first).sum((0, 2))
                sums += part.abs().sum((0, 2), dtype=torch.float64)
            different.append(counts)
            magnitude.append(sums / value.shape[2])
        self._different = self._different + torch.cat(different)
        self._magnitude = self._magnitude + torch.cat(magnitude)

    def shares(self) -> dict[str, float]:
        """Return the number of `units`, and the shares of `dead` and `dormant` ones.

        A unit is dead if it has the same value for every example, at each of its
        positions, so that no later layer can use it to tell examples apart. After a
        ReLU, this is a unit that never fires. It is dormant if its score, its mean
        magnitude over that of all units of the layer, is at most TAU. Units of GELU or
        SiLU are never quite constant: they can only be dormant.

        Source: Sokar et al., ICML 2023, definition 3.1 (tau-dormant neurons).

        >>> activity = Activity()
        >>> activity.add([torch.tensor([[[0.0], [0], [1], [3]], [[0], [0.01], [1], [1]]])])
        >>> activity.shares()
        {'units': 4.0, 'dead': 0.5, 'dormant': 0.5}
        """
        n = len(self._magnitude)
        # As counts: the share is the nearest float there is.
        dead = int((self._different == 0).sum())
        dormant = int((self._magnitude <= TAU * self._magnitude.mean()).sum())
        return {
            "units": float(n),
            "dead": dead / n,
            "dormant": dormant / n,
        }


def effective_rank(x: Tensor) -> float:
    """Return exp of the entropy of the normalised singular values of the centred feature.

    It is computed in float64 with about 4 N D min(N, D) operations.

    Args:
        x: The feature, (N, ...), N >= 2, flattened to (N, D).

    Returns:
        The effective rank, from 1 to min(N - 1, D): k for k equal singular values, and
        0 for a constant feature.

    Raises:
        InputError: There are fewer than 2 examples.

    Source: Roy & Vetterli, The Effective Rank, EUSIPCO 2007, on the centred feature.

    >>> round(effective_rank(torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])), 12)
    2.0
    """
    if x.ndim < 2 or len(x) < 2 or not x[0].numel():
        raise InputError(
            f"got a feature of shape {tuple(x.shape)}: give 2 examples or more"
        )
    flat = x.flatten(1)
    # Of the differences to the first example: what is constant becomes 0 without
    # rounding.
    apart = flat.to(torch.float64) - flat[:1].to(torch.float64)
    if not apart.any():
        return 0.0
    values = torch.linalg.svdvals(apart - apart.mean(0))
    shares = values / values.sum()
    entropy = torch.special.entr(shares).sum()
    return float(entropy.exp())
