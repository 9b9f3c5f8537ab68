"""The objective of multinomial logistic regression and its gradient, in one visit of the data."""

from dataclasses import dataclass

import torch
from torch import Tensor

_CHUNK = 2**19  # numbers whose rows stay in a CPU's cache between logits and gradient
_LARGE_CHUNK = 65536  # rows on other devices
_LOWEST = -80.0  # below the largest logit: exp of less is slow (denormal) and adds nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """The objective at a point: its value, gradient (K, D + 1) float64, and its curvature.

    weight: the sum over all examples of p (1 - p), the mean over classes.
    """

    value: float
    gradient: Tensor
    weight: float


class Objective:
    """C sum_i logloss_i + 1/2 ||W||^2, W (K, D) beside biases (K,) that are not penalised.

    scikit-learn's LogisticRegression minimises the same for three classes or more. Logits, p and
    the products of a chunk of rows have the type of the rows; parameters and sums are float64. x:
    (N, D) float32 or float64; y: (N,) int64.

    >>> start = torch.zeros(2, 2, dtype=torch.float64)
    >>> at = Objective(torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]), 2, 1.0)(start)
    >>> round(at.value, 6), at.gradient.tolist()
    (1.386294, [[-1.0, 0.0], [1.0, 0.0]])
    """

    def __init__(self, x: Tensor, y: Tensor, classes: int, C: float) -> None:
        size = max(1, _CHUNK // x.shape[1]) if x.device.type == "cpu" else _LARGE_CHUNK
        self._chunks = list(zip(x.split(size), y[None].split(size, 1), strict=True))
        self._shape = (classes, x.shape[1] + 1)
        self._examples, self._C = len(x), C

    def start(self) -> Tensor:
        """Return parameters of zeros, (K, D + 1) float64."""
        return torch.zeros(self._shape, dtype=torch.float64, device=self._chunks[0][0].device)

    def __call__(self, parameters: Tensor) -> Point:
        """Return the objective at weights and, as the last column, biases (K, D + 1) float64."""
        weight, bias = parameters[:, :-1], parameters[:, -1:]
        kind = self._chunks[0][0].dtype
        narrow, narrow_bias = weight.to(kind).contiguous(), bias.to(kind)
        loss = parameters.new_zeros(())
        gradient = parameters.new_zeros(self._shape)
        certain = parameters.new_zeros(())
        for rows, labels in self._chunks:
            logits = torch.addmm(narrow_bias, narrow, rows.T)
            logits -= logits.amax(0)
            chances = logits.clamp(min=_LOWEST).exp_()
            total = chances.sum(0)
            loss += (total.log() - logits.gather(0, labels)[0]).sum(dtype=torch.float64)
            chances /= total
            certain += chances.square().sum(dtype=torch.float64)
            chances.scatter_add_(0, labels, torch.full_like(labels, -1, dtype=kind))
            gradient[:, :-1] += chances @ rows
            gradient[:, -1] += chances.sum(1)
        gradient *= self._C
        gradient[:, :-1] += weight
        value = self._C * loss + weight.square().sum() / 2
        uncertain = (self._examples - float(certain)) / self._shape[0]
        return Point(value=float(value), gradient=gradient, weight=uncertain)
