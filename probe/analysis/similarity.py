"""Debiased linear CKA between two features: the similarity of their values over the test set.

Source: Kornblith et al., ICML 2019 (CKA); Song et al., ICML 2007, eq. 5 (the unbiased
HSIC); Nguyen et al., ICLR 2021 (CKA with it). The plain estimator is far too high where
examples are few against the width: .94 for independent Gaussians, 32 examples of width
512.
"""

import math
from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from probe.errors import InputError

_ROWS = 1024  # examples that are in float64 at a time
_TOLERANCE = (
    1e-12  # of a feature's own scale, below which nothing is left of it but rounding
)


class Compared:
    """One feature to be compared with several others; its own terms are computed once.

    One comparison takes n D1 D2 operations, or n^2 (D1 + D2) if these are fewer.

    Args:
        x: The feature, (n, ...), n >= 4, of any type and device, flattened to (n, D);
            not copied.
    """

    def __init__(self, x: Tensor) -> None:
        if x.ndim < 2 or len(x) < 4:
            raise InputError(
                f"got a feature of shape {tuple(x.shape)}: give 4 examples or more"
            )
        self._x = x.flatten(1)
        self._n, self._width = self._x.shape
        # `_parts` subtracts the first example, as sums of a large constant would round,
        # and `_mean`, which is 0 until it is known.
        self._mean = torch.zeros(self._width, dtype=torch.float64, device=x.device)
        total = torch.zeros_like(self._mean)
        for part in self._parts():
            total += part.sum(0)
        self._mean = total / self._n
        # The diagonal of the Gram matrix.
        self._norms = torch.cat([part.square().sum(1) for part in self._parts()])

    def cka(self, other: Tensor) -> float:
        """Return the debiased linear CKA with another feature of the same n examples, at most 1.

        The value is 1 for a feature and a rotated, scaled or shifted copy of it. For
        independent features it averages 0, so it can be negative. It is NaN where a
        feature is constant or differs in one example only. Computed in float64.

        >>> x = torch.tensor([[0.0, 1], [2, 1], [1, 5], [3, 0], [2, 2]])
        >>> round(Compared(x).cka(3 * x.flip(1) + 1), 12)
        1.0
        """
        y = Compared(other)
        return self._hsic(y) / math.sqrt(self._with_itself * y._with_itself)

    @cached_property
    def _with_itself(self) -> float:
        """The HSIC of the feature with itself, NaN if it vanishes."""
        hsic = self._hsic(self)
        least = _TOLERANCE * float(self._norms.sum()) ** 2
        return hsic if hsic > least else math.nan

    def _hsic(self, y: "Compared") -> float:
        """Return n (n - 3) times the unbiased HSIC of eq. 5, K and L being Gram matrices.

        Of centred features, as here, K 1 = 0. With k, l the diagonals that eq. 5 takes
        out: tr(K~ L~) = tr(K L) - k.l, 1'K~1 = -sum(k), 1'K~L~1 = k.l, and no n x n
        matrix is needed.
        """
        n = self._n
        both = float(self._norms @ y._norms)
        sums = float(self._norms.sum()) * float(y._norms.sum())
        trace = self._product(y) - both
        return trace + sums / ((n - 1) * (n - 2)) - 2 * both / (n - 2)

    def _product(self, y: "Compared") -> float:
        """Return tr(K L), the squared norm of X'Y."""
        if self._n * (self._width + y._width) >= self._width * y._width:
            joint = torch.zeros(
                self._width,
                y._width,
                dtype=torch.float64,
                device=self._x.device,
            )
            for mine, theirs in zip(self._parts(), y._parts(), strict=True):
                joint.addmm_(mine.T, theirs)
            return float(joint.square().sum())
        total = 0.0
        for start in range(0, self._n, _ROWS):
            mine = self._part(start)
            theirs = y._part(start)
            for later in range(start, self._n, _ROWS):
                K = mine @ self._part(later).T
                L = theirs @ y._part(later).T
                # The matrix is symmetric: the part above the diagonal counts twice.
                total += float((K * L).sum()) * (1 + (later > start))
        return total

    def _part(self, start: int) -> Tensor:
        """Return the centred values of some examples, (up to _ROWS, D), float64."""
        first = self._x[:1].to(torch.float64)
        rows = self._x[start : start + _ROWS].to(torch.float64)
        return rows - first - self._mean

    def _parts(self) -> Iterator[Tensor]:
        return map(self._part, range(0, self._n, _ROWS))
