"""L-BFGS for logistic regression, preconditioned by the data's own covariance.

Nocedal and Wright 2006, algorithms 7.4 and 7.5. The initial approximation of the second derivatives
is C w X'X + I, w the mean of p (1 - p) over classes: with w = 1/2 it is Boehning's bound (1992).
On the features of a convolutional network it takes half as many iterations to a thousandth of the
objective as plain L-BFGS to a hundredth.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_MEMORY = 10  # steps that are remembered
_WIDEST = 2048  # features, up to which X'X is worth its time
_LEAST = 1e-3  # of the sum of p (1 - p): biases are not penalised and need some curvature
_ARMIJO = 1e-4
_NOISE = 1e-9  # of the objective: what rounding leaves uncertain
_HALVINGS = 30
_CHUNK = 2**19  # numbers whose rows stay in a CPU's cache between logits and gradient
_LARGE_CHUNK = 65536  # rows on other devices
_LOWEST = -80.0  # below the largest logit: exp of less is slow (denormal) and adds nothing

_Pairs = deque[tuple[Tensor, Tensor, float]]  # a step, the gradient's change, 1 / their product


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Minimum:
    """The result of the search: parameters (K, D + 1), float64, and whether it converged.

    left: an estimate of the remaining decrease, as a fraction of the objective.
    """

    parameters: Tensor
    value: float
    iterations: int
    left: float
    converged: bool


class Curvature:
    """An approximation of the second derivatives of the objective, C w X'X / N + I, factorised.

    x: standardised, (N, D); C: as in `Objective`. The factors are renewed when w has halved.
    """

    def __init__(self, x: Tensor, C: float) -> None:
        self._C, self._kind, width = C, x.dtype, x.shape[1]
        self._gram: Tensor | None = None
        if width <= _WIDEST:
            gram = torch.zeros(width, width, dtype=x.dtype, device=x.device)
            for part in x.split(8192):
                gram.addmm_(part.T, part)
            self._gram = gram.double() / len(x)
        self._mass, self._factor = 0.0, x.new_empty(0)

    def divided(self, change: Tensor, weight: float) -> Tensor:
        """Return a gradient or its change (K, D + 1) divided by the curvature.

        weight: the sum of p (1 - p), the mean over classes. One for all classes: only then do
        weights and biases stay where those of all classes sum to 0, as gradients do. Elsewhere the
        objective hardly bends, or not at all.
        """
        mass = max(self._C * weight, _LEAST)
        inner = change[:, :-1].to(self._kind)
        if self._gram is None:
            inner = inner / (mass + 1)
        else:
            inner = torch.cholesky_solve(inner.T, self._factored(self._gram, mass)).T
        found = torch.cat([inner.to(change.dtype), change[:, -1:] / mass], 1)
        return found - found.mean(0)

    def _factored(self, gram: Tensor, mass: float) -> Tensor:
        """Return the Cholesky factor for a mass near this one."""
        if not self._mass / 2 <= mass <= 2 * self._mass:
            self._mass = mass
            damped = mass * gram
            damped.diagonal().add_(1)
            # Not in float32, in which the 1 may be lost beside the largest numbers.
            self._factor = torch.linalg.cholesky(damped).to(self._kind)
        return self._factor


def minimize(objective: Objective, curvature: Curvature, tolerance: float, most: int) -> Minimum:
    """Minimise from zero until the remaining gain is below `tolerance`, a share of the objective.

    most: iterations. The remaining gain is estimated by half the Newton decrement, g'Hg / 2, with
    the inverse second derivatives H as L-BFGS approximates them: with many classes and a weak
    penalty, it may be thirty times as large.
    """
    where = objective.start()
    point = objective(where)
    pairs: _Pairs = deque(maxlen=_MEMORY)
    left = torch.inf
    for iterations in range(most + 1):
        direction = _direction(point.gradient, pairs, curvature, point.weight)
        slope = _product(direction, point.gradient)
        left = -slope / 2 / max(point.value, torch.finfo(torch.float64).tiny)
        if left <= tolerance or iterations == most:
            break
        found = _search(objective, where, direction, point.value, slope)
        if found is None:
            break
        step, ahead = found
        change = ahead.gradient - point.gradient
        product = _product(step, change)
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
        share = _product(step, direction) * inverse
        direction.sub_(change, alpha=share)
        shares.append(share)
    direction = curvature.divided(direction, weight)
    if pairs:
        _, change, inverse = pairs[-1]
        direction /= inverse * _product(change, curvature.divided(change, weight))
    for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        direction.add_(step, alpha=share - _product(change, direction) * inverse)
    return direction


def _product(a: Tensor, b: Tensor) -> float:
    return float(torch.dot(a.flatten(), b.flatten()))


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
