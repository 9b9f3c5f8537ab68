"""Columns of mean 0 and deviation 1, by the statistics of the training examples."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

_PIECE = 2**15  # numbers, of which float64 stays in a CPU's cache


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardization:
    """The mean subtracted from each column and the scale that divides it, both (D,) float32.

    >>> x = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    >>> Standardization.of(x)(x).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, x: Tensor) -> Self:
        """Return mean and population deviation of the columns of x (N, D), N from 1.

        A constant column has scale 1, as in scikit-learn's StandardScaler. Summed in float64.
        """
        exact = x.sum(0, dtype=torch.float64) / len(x)
        mean = exact.float()
        parts = x.split(max(1, _PIECE // x.shape[1]))
        squares = [(part - mean).double().square().sum(0) for part in parts]
        # The deviation from the rounded mean is larger by how much that was rounded.
        variance = torch.stack(squares).sum(0) / len(x) - (exact - mean).square()
        scale = variance.clamp(min=0).sqrt().float()
        constant = (x.amax(0) == x.amin(0)) | (scale == 0)
        return cls(mean=mean, scale=scale.masked_fill(constant, 1.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Return x (M, D), standardised, in new memory."""
        return x.sub(self.mean).div_(self.scale)
