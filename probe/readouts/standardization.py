"""Standardized columns: mean 0 and deviation 1, by the statistics of the training examples."""

import torch
from torch import Tensor

from probe.batch import Transform

_PIECE = 2**15  # numbers whose float64 fit into a CPU's cache


def standardization(x: Tensor) -> Transform:
    """Return a function that subtracts the mean of each column and divides by its deviation.

    A constant column is divided by 1, as in scikit-learn's StandardScaler.

    Args:
        x: The training examples, (N, D), N from 1. Their statistics are summed in
            float64.

    Returns:
        A function of features (M, D), whose values are in new memory.

    >>> x = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    >>> standardization(x)(x).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    exact = x.sum(0, dtype=torch.float64) / len(x)
    mean = exact.float()
    parts = x.split(max(1, _PIECE // x.shape[1]))
    squares = [(part - mean).double().square().sum(0) for part in parts]
    # About the rounded mean, the variance is larger by the square of the rounding error.
    variance = torch.stack(squares).sum(0) / len(x) - (exact - mean).square()
    scale = variance.clamp(min=0).sqrt().float()
    scale.masked_fill_((x.amax(0) == x.amin(0)) | (scale == 0), 1.0)
    return lambda values: values.sub(mean).div_(scale)
