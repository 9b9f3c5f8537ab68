"""Use of a feature's width: dead units and effective rank."""

import torch
from torch import Tensor

from probe.errors import InputError


def dead_units(x: Tensor) -> float:
    """Return the share of a feature's units that are dead.

    A unit is dead if it has the same value for every example, so that no later layer can use it to
    tell examples apart. After a ReLU, this is a unit that never fires.

    Args:
        x: The feature, (N, ...), N >= 2, flattened to (N, D); every position of a map is a unit of
            its own.

    Returns:
        The share, in [0, 1].

    Raises:
        InputError: There are fewer than 2 examples.

    >>> dead_units(torch.tensor([[0.0, 0, 1], [0, 2, 1]]))
    0.6666666666666666
    """
    low, high = torch.aminmax(_flat(x), dim=0)
    # As counts: the share is the nearest float there is.
    return int((low == high).sum()) / len(low)


def effective_rank(x: Tensor) -> float:
    """Return exp of the entropy of the normalised singular values of the centred feature.

    It is computed in float64 with about 4 N D min(N, D) operations.

    Args:
        x: The feature, (N, ...), N >= 2, flattened to (N, D).

    Returns:
        The effective rank, from 1 to min(N - 1, D): k for k equal singular values, and 0 for a
        constant feature.

    Raises:
        InputError: There are fewer than 2 examples.

    Source: Roy & Vetterli, The Effective Rank, EUSIPCO 2007, on the centred feature.

    >>> round(effective_rank(torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])), 12)
    2.0
    """
    flat = _flat(x)
    if dead_units(x) == 1:
        return 0.0
    # Of the differences to the first example: what is constant becomes 0 without rounding.
    apart = flat.to(torch.float64) - flat[:1].to(torch.float64)
    values = torch.linalg.svdvals(apart - apart.mean(0))
    return float(torch.special.entr(values / values.sum()).sum().exp())


def _flat(x: Tensor) -> Tensor:
    if x.ndim < 2 or len(x) < 2 or not x[0].numel():
        raise InputError(f"got a feature of shape {tuple(x.shape)}: give 2 examples or more")
    return x.flatten(1)
