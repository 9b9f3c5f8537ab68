"""L-BFGS for logistic regression, preconditioned by the data's own covariance.

Nocedal and Wright 2006, algorithms 7.4 and 7.5. What L-BFGS takes for the second derivatives before
it has seen any is C w X'X + I, w the mean of p (1 - p) over classes: with w = 1/2 it is Boehning's
bound (1992). On the features of a convolutional network it takes half as many iterations to a
thousandth of the objective as plain L-BFGS to a hundredth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.readouts.softmax import Objective, Point

_MEMORY = 20  # steps that are remembered
_WIDEST = 2048  # features, up to which their eigenvectors are worth their time
_LEAST = 1e-3  # of the sum of p (1 - p): biases are not penalised and need some curvature
_ARMIJO = 1e-4
_NOISE = 1e-9  # of the objective: what rounding leaves uncertain
_HALVINGS = 30

_Pairs = deque[tuple[Tensor, Tensor, float]]  # a step, the gradient's change, 1 / their product


@dataclass(frozen=True, kw_only=True, eq=False)
class Minimum:
    """Where the search ended, parameters (K, D + 1) float64, and how.

    left: an estimate of what could still be gained, a share of the objective.
    """

    parameters: Tensor
    value: float
    iterations: int
    left: float
    converged: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Curvature:
    """Eigenvectors (D, D), None for the columns themselves, and eigenvalues (D,) of X'X / N."""

    vectors: Tensor | None
    values: Tensor
    C: float

    @classmethod
    def of(cls, x: Tensor, C: float) -> Curvature:
        """Look at standardised x (N, D)."""
        width = x.shape[1]
        if width > _WIDEST:
            return cls(vectors=None, values=x.new_ones(width), C=C)
        gram = torch.zeros(width, width, dtype=x.dtype, device=x.device)
        for part in x.split(8192):
            gram.addmm_(part.T, part)
        # Of a feature that is mostly dead, eigh fails in float32, or gives NaN without a word.
        for kind in (gram.dtype, torch.float64):
            if found := _eigen((gram / len(x)).to(kind)):
                values, vectors = (each.to(x.dtype) for each in found)
                return cls(vectors=vectors, values=values.clamp(min=0), C=C)
        return cls(vectors=None, values=x.new_ones(width), C=C)

    def divided(self, change: Tensor, weight: float) -> Tensor:
        """Return a gradient or its change (K, D + 1) divided by the curvature.

        weight: the sum of p (1 - p), the mean over classes. One for all classes: only then do
        weights and biases stay where those of all classes sum to 0, as gradients do. Elsewhere the
        objective hardly bends, or not at all.
        """
        mass = max(self.C * weight, _LEAST)
        inner = change[:, :-1].to(self.values.dtype)
        if self.vectors is not None:
            inner = inner @ self.vectors
        inner = inner / (mass * self.values + 1)
        if self.vectors is not None:
            inner = inner @ self.vectors.T
        found = torch.cat([inner.to(change.dtype), change[:, -1:] / mass], 1)
        return found - found.mean(0)


def _eigen(matrix: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return eigenvalues (D,) and eigenvectors (D, D) of a matrix, None if they are not found."""
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        return None
    return (values, vectors) if vectors.isfinite().all() and values.isfinite().all() else None


def minimize(
    objective: Objective, curvature: Curvature, classes: int, tolerance: float, most: int
) -> Minimum:
    """Minimise from zero until what is left is below `tolerance`, a share of the objective.

    most: iterations. What is left is estimated by half the Newton decrement, g'Hg / 2, with the
    inverse second derivatives H as L-BFGS knows them: it may be ten times as much.
    """
    values = curvature.values
    shape = (classes, len(values) + 1)
    where = torch.zeros(shape, dtype=torch.float64, device=values.device)
    point = objective(where)
    pairs: _Pairs = deque(maxlen=_MEMORY)
    left = torch.inf
    for iterations in range(most + 1):
        direction = _direction(point.gradient, pairs, curvature, point.weight)
        slope = float((direction * point.gradient).sum())
        left = -slope / 2 / max(point.value, torch.finfo(torch.float64).tiny)
        if left <= tolerance or iterations == most:
            break
        found = _search(objective, where, direction, point.value, slope)
        if found is None:
            break
        step, ahead = found
        change = ahead.gradient - point.gradient
        product = float((step * change).sum())
        if product > 0:
            pairs.append((step, change, 1 / product))
        where, point = where + step, ahead
    return Minimum(
        parameters=where,
        value=point.value,
        iterations=iterations,
        left=left,
        converged=left <= tolerance,
    )


def _direction(gradient: Tensor, pairs: _Pairs, curvature: Curvature, weight: float) -> Tensor:
    """Return -H g (K, D + 1): the two loops over the remembered steps and changes."""
    direction = -gradient
    shares = []
    for step, change, inverse in reversed(pairs):
        share = (step * direction).sum() * inverse
        direction = direction - share * change
        shares.append(share)
    direction = curvature.divided(direction, weight)
    if pairs:
        _, change, inverse = pairs[-1]
        direction = direction / (inverse * (change * curvature.divided(change, weight)).sum())
    for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        other = (change * direction).sum() * inverse
        direction = direction + (share - other) * step
    return direction


def _search(
    evaluate: Callable[[Tensor], Point],
    where: Tensor,
    direction: Tensor,
    value: float,
    slope: float,
) -> tuple[Tensor, Point] | None:
    """Return the first step along the direction that lowers the objective enough, None if none."""
    length = 1.0
    for _ in range(_HALVINGS):
        step = length * direction
        point = evaluate(where + step)
        if point.value <= value + _ARMIJO * length * slope + _NOISE * abs(value):
            return step, point
        # The minimum of the parabola through what is known, not too near to either end.
        bend = point.value - value - slope * length
        length *= min(0.5, max(0.1, -slope * length / (2 * bend)))
    return None
