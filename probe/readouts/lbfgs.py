"""L-BFGS for logistic regression, preconditioned by the data's own covariance.

Nocedal and Wright 2006, algorithms 7.4 and 7.5. What L-BFGS takes for the second derivatives
before it has seen any is C w X'X + I for the weights of every class, w the mean of p (1 - p): with
w = 1/2 it is Boehning's bound (1992). In the eigenvectors of X'X it is diagonal, so that all steps
are taken in these coordinates.
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
_ROWS = 8192  # summed up in float32 at a time
_ARMIJO = 1e-4
_NOISE = 1e-9  # of the objective: what its float32 parts leave uncertain
_HALVINGS = 30
_LEAST = 1e-3  # of C times a sum of p (1 - p)


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
            return cls(vectors=None, values=x.new_ones(width, dtype=torch.float64), C=C)
        gram = torch.zeros(width, width, dtype=torch.float64, device=x.device)
        # All rows: a column that is 0 but for few of them would look constant among some.
        for part in x.split(_ROWS):
            gram += part.T @ part
        values, vectors = torch.linalg.eigh(gram / len(x))
        return cls(vectors=vectors, values=values.clamp(min=0), C=C)

    def inside(self, parameters: Tensor) -> Tensor:
        """Return parameters or a gradient (K, D + 1) in the eigenvectors' coordinates."""
        return self._turned(parameters, self.vectors)

    def outside(self, parameters: Tensor) -> Tensor:
        """Undo `inside`."""
        return self._turned(parameters, None if self.vectors is None else self.vectors.T)

    def at(self, weight: float) -> Tensor:
        """Return the diagonal (D + 1,) for a sum of p (1 - p), the mean over classes.

        One for all classes: only then do steps stay where weights and biases of all classes sum
        to 0, as the gradients do. Elsewhere the objective hardly bends, or not at all.
        """
        # Where all is quite certain there are still biases, which are not penalised.
        mass = max(self.C * weight, _LEAST)
        return torch.cat([mass * self.values + 1, self.values.new_full((1,), mass)])

    @staticmethod
    def _turned(parameters: Tensor, by: Tensor | None) -> Tensor:
        if by is None:
            return parameters
        return torch.cat([parameters[:, :-1] @ by, parameters[:, -1:]], 1)


def minimize(
    objective: Objective, curvature: Curvature, classes: int, tolerance: float, most: int
) -> Minimum:
    """Minimise from zero until what is left is below `tolerance`, a share of the objective.

    most: iterations. What is left is estimated by half the Newton decrement, g'Hg / 2, with the
    inverse second derivatives H as L-BFGS knows them.
    """
    zeros = torch.zeros(
        classes,
        len(curvature.values) + 1,
        dtype=torch.float64,
        device=curvature.values.device,
    )

    def evaluate(inner: Tensor) -> tuple[Point, Tensor]:
        point = objective(curvature.outside(inner))
        # Its mean over classes is 0 but for rounding, and nothing would hold back steps along it.
        return point, curvature.inside(point.gradient - point.gradient.mean(0))

    where, (point, gradient) = zeros, evaluate(zeros)
    memory: deque[tuple[Tensor, Tensor]] = deque(maxlen=_MEMORY)
    left = torch.inf
    for iterations in range(most + 1):
        direction = _direction(gradient, memory, curvature.at(point.weight))
        slope = float((direction * gradient).sum())
        left = -slope / 2 / max(point.value, torch.finfo(torch.float64).tiny)
        if left <= tolerance or iterations == most:
            break
        found = _search(evaluate, where, direction, point.value, slope)
        if found is None:
            break
        there, point, ahead = found
        step, change = there - where, ahead - gradient
        if float((step * change).sum()) > 0:
            memory.append((step, change))
        where, gradient = there, ahead
    return Minimum(
        parameters=curvature.outside(where),
        value=point.value,
        iterations=iterations,
        left=left,
        converged=left <= tolerance,
    )


def _direction(gradient: Tensor, memory: deque[tuple[Tensor, Tensor]], diagonal: Tensor) -> Tensor:
    """Return -H g (K, D + 1): the two loops over the remembered steps and changes."""
    direction = -gradient
    shares = []
    for step, change in reversed(memory):
        share = (step * direction).sum() / (step * change).sum()
        direction = direction - share * change
        shares.append(share)
    direction = direction / diagonal
    direction = direction - direction.mean(0)
    if memory:
        step, change = memory[-1]
        direction = direction * ((step * change).sum() / (change * change / diagonal).sum())
    for (step, change), share in zip(memory, reversed(shares), strict=True):
        other = (change * direction).sum() / (step * change).sum()
        direction = direction + (share - other) * step
    return direction


def _search(
    evaluate: Callable[[Tensor], tuple[Point, Tensor]],
    where: Tensor,
    direction: Tensor,
    value: float,
    slope: float,
) -> tuple[Tensor, Point, Tensor] | None:
    """Return the first step along the direction that lowers the objective enough, None if none."""
    length = 1.0
    for _ in range(_HALVINGS):
        there = where + length * direction
        point, gradient = evaluate(there)
        if point.value <= value + _ARMIJO * length * slope + _NOISE * abs(value):
            return there, point, gradient
        # The minimum of the parabola through what is known, not too near to either end.
        bend = point.value - value - slope * length
        length *= min(0.5, max(0.1, -slope * length / (2 * bend)))
    return None
