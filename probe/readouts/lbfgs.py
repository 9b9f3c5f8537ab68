"""L-BFGS for logistic regression, preconditioned by the data's own covariance.

Nocedal and Wright 2006, algorithms 7.4 and 7.5. The initial approximation of the second
derivatives is C w X'X + I for each class, w the mean of its p (1 - p): with w = 1/2 it
is Boehning's bound (1992). On the features of a convolutional network, it reaches a
thousandth of the objective in half the iterations that plain L-BFGS takes to reach a
hundredth.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

_MEMORY = 6  # steps that are remembered
_WIDEST = 2048  # features, up to which X'X is worth its time
_RIDGE = 1e-6
# Of the sum of p (1 - p): biases are not penalised and need some curvature.
_LEAST = 1e-3
_ARMIJO = 1e-4
_NOISE = 1e-9  # of the objective: what rounding leaves uncertain
_HALVINGS = 30
_CHUNK = 2**20  # numbers whose rows stay in a CPU's cache between logits and gradient
_LARGE_CHUNK = 65536  # rows on other devices
# Below the largest logit: exp of less is slow (denormal) and adds nothing.
_LOWEST = -80.0


class Evaluation(NamedTuple):
    """The objective at a point.

    Attributes:
        value: The objective.
        gradient: Its gradient, (K, D + 1) float64.
        weight: The sum of p (1 - p) over all examples of each class, (K, 1), which sets
            the curvature.
    """

    value: Tensor
    gradient: Tensor
    weight: Tensor


class LogisticLoss:
    """The objective C sum_i logloss_i + 1/2 ||W||^2, for W (K, D) and unpenalized biases (K,).

    scikit-learn's LogisticRegression minimises the same for three classes or more.
    Logits, p and matrix products have the type of the rows; parameters and sums are
    float64.

    Its second derivatives are approximated by C w X'X / N + I, without I for the
    biases. The search uses coordinates along the eigenvectors of X'X, in which this is
    diagonal for any w.

    Args:
        x: The features (N, D), standardized, float32 or float64.
        y: The labels (N,) int64.
        classes: Number of classes K.
        C: The weight of the examples against the penalty.

    >>> objective = LogisticLoss(torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]), 2, 1.0)
    >>> value, gradient, _ = objective(objective.start)
    >>> round(float(value), 6), gradient.tolist()
    (1.386294, [[-1.0, 0.0], [1.0, 0.0]])
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        classes: int,
        C: float,
    ) -> None:
        # Examples in chunks: on the CPU their logits stay in its cache.
        count, width = x.shape
        size = _LARGE_CHUNK
        if x.device.type == "cpu":
            size = max(1, _CHUNK // (width + 4 * classes))
        self._rows = x.split(size)
        self._labels = y[None].split(size, 1)
        self._minus_one = x.new_full((1, min(size, count)), -1.0)
        self._C = C
        self.start = x.new_zeros(classes, width + 1, dtype=torch.float64)
        # The search runs along the eigenvectors of the features, where the curvature is
        # nearly diagonal; biases, in the last column, are not penalized.
        self._axes: Tensor | None = None
        self._eigenvalues, self._penalty = self.start.new_ones(2, width + 1)
        self._penalty[-1] = 0
        if width <= _WIDEST:
            values, axes = _eigenvectors(_second_moments(x))
            self._eigenvalues[:-1] = values.clamp(min=0)
            self._axes = axes.to(x.dtype)

    def curvature(self, weight: Tensor) -> Tensor:
        """Return the second derivatives (K, D + 1) at a point where p (1 - p) sums to `weight`."""
        scale = (self._C * weight).clamp(min=_LEAST)
        return torch.addcmul(self._penalty, scale, self._eigenvalues)

    def weight(self, parameters: Tensor) -> Tensor:
        """Return W (K, D) of parameters (K, D + 1) in the coordinates of the search."""
        return _turn(parameters[:, :-1], None if self._axes is None else self._axes.T)

    def __call__(self, parameters: Tensor) -> Evaluation:
        """Return the objective at parameters (K, D + 1), the last column being the biases."""
        dtype = self._rows[0].dtype
        weight = self.weight(parameters)
        narrow_weight = weight.to(dtype)
        bias = parameters[:, -1:].to(dtype)
        loss = parameters.new_zeros(())
        slope = weight / self._C
        bias_slope = torch.zeros_like(parameters[:, -1:])
        curvature_weight = torch.zeros_like(bias_slope)
        for rows, labels in zip(self._rows, self._labels, strict=True):
            logs = torch.addmm(bias, narrow_weight, rows.T).log_softmax(0)
            loss -= logs.gather(0, labels).sum(dtype=torch.float64)
            p = logs.clamp_(min=_LOWEST).exp_()
            curvature_weight += (p - p.square()).sum(1, keepdim=True)
            p.scatter_add_(0, labels, self._minus_one[:, : len(rows)])
            slope += p @ rows
            bias_slope += p.sum(1, keepdim=True)
        value = self._C * loss + weight.square().sum() / 2
        gradient = torch.cat([_turn(slope, self._axes), bias_slope], 1).mul_(self._C)
        return Evaluation(value, gradient, curvature_weight)


def _turn(weight: Tensor, axes: Tensor | None) -> Tensor:
    """Return W or its gradient (K, D), float64, in the coordinates of `axes`; None = unchanged."""
    return weight if axes is None else (weight.to(axes.dtype) @ axes).double()


def _second_moments(x: Tensor) -> Tensor:
    """Return X'X / N (D, D) of x (N, D), with a small ridge."""
    moments = x.new_zeros(x.shape[1], x.shape[1])
    for rows in x.split(8192):
        moments.addmm_(rows.T, rows)
    moments /= len(x)
    moments.diagonal().add_(_RIDGE)
    return moments


def _eigenvectors(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues (D,) and, as columns, the eigenvectors (D, D) of a matrix (D, D)."""
    # In float32 LAPACK's divide and conquer may fail on rows of zeros, as of dead
    # units.
    with suppress(RuntimeError):
        values, axes = torch.linalg.eigh(matrix)
        if bool(values.isfinite().all()) and bool(axes.isfinite().all()):
            return values, axes
    values, axes = torch.linalg.eigh(matrix.double())
    return values, axes


def minimize(
    objective: LogisticLoss, tolerance: float, most: int
) -> tuple[Tensor, float, int, float]:
    """Minimize from zero until the remaining gain is below a share of the objective.

    The remaining gain is estimated by half the Newton decrement, g'Hg / 2, with
    L-BFGS's approximation H of the inverse Hessian. With many classes and a weak
    penalty the true gain may be thirty times as large.

    Args:
        objective: The loss to minimize.
        tolerance: The share of the objective at which to stop.
        most: The largest number of iterations.

    Returns:
        The parameters (K, D + 1), the objective there, the number of iterations, and
        the remaining gain as a share of the objective.
    """
    point = _first_point(objective)
    gain = torch.inf
    for iterations in range(most + 1):
        gain = -point.slope / 2 / max(point.value, torch.finfo(torch.float64).tiny)
        if gain <= tolerance or iterations == most:
            break
        after = _search(objective, point)
        if after is None:
            break
        point = after
    return point.parameters, point.value, iterations, gain


class _Step(NamedTuple):
    """A step of the search and the change of the gradient along it, both (K (D + 1),)."""

    move: Tensor
    change: Tensor


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the search, and the direction in which to go on from it.

    Attributes:
        parameters: The parameters, (K, D + 1).
        value: The objective.
        gradient: Its gradient, (K, D + 1).
        steps: The steps that are remembered, the newest last.
        direction: The direction, (K, D + 1).
        slope: The derivative of the objective in this direction.
    """

    parameters: Tensor
    value: float
    gradient: Tensor
    steps: tuple[_Step, ...]
    direction: Tensor
    slope: float


def _first_point(objective: LogisticLoss) -> _Point:
    """Return the point from which the search starts."""
    value, gradient, weight = objective(objective.start)
    direction = _direction(gradient, (), objective.curvature(weight))
    slope = float(_product(direction, gradient))
    return _Point(
        objective.start,
        float(value),
        gradient,
        (),
        direction,
        slope,
    )


def _next_point(
    objective: LogisticLoss,
    before: _Point,
    move: Tensor,
    evaluation: Evaluation,
) -> _Point:
    """Return the point that a move (K, D + 1) leads to, where the objective was evaluated."""
    value, gradient, weight = evaluation
    curvature = objective.curvature(weight)
    step = _Step(move.flatten(), (gradient - before.gradient).flatten())
    steps = (*before.steps, step)[-_MEMORY:]
    direction = _direction(gradient, steps, curvature)
    slope = _product(direction, gradient)
    # The host waits for the device once: nearly all steps curve upward and are
    # remembered.
    numbers = torch.stack(
        [
            value,
            slope,
            torch.dot(*step),
        ]
    ).tolist()
    if not numbers[2] > 0:
        steps = before.steps
        direction = _direction(gradient, steps, curvature)
        numbers[1] = float(_product(direction, gradient))
    parameters = before.parameters + move
    return _Point(parameters, numbers[0], gradient, steps, direction, numbers[1])


def _direction(gradient: Tensor, steps: tuple[_Step, ...], curvature: Tensor) -> Tensor:
    """Return -H g (K, D + 1): the two loops over the remembered steps.

    Each loop is a triangular system with an unknown for each step. curvature: (K, D +
    1).
    """
    if not steps:
        return _divide(-gradient, curvature)
    moves = torch.stack([step.move for step in steps])
    changes = torch.stack([step.change for step in steps])
    products = moves @ changes.T
    upper = products.triu()
    downhill = moves @ -gradient.view(-1, 1)
    shares = torch.linalg.solve_triangular(upper, downhill, upper=True)
    rest = _divide(-gradient - (changes.T @ shares).view_as(gradient), curvature)
    newest = changes[-1]
    rest *= products[-1, -1] / torch.dot(newest, newest / curvature.flatten())
    gaps = products.diagonal()[:, None] * shares - changes @ rest.view(-1, 1)
    weights = torch.linalg.solve_triangular(upper.T, gaps, upper=False)
    return rest.add_((moves.T @ weights).view_as(rest))


def _divide(change: Tensor, curvature: Tensor) -> Tensor:
    """Return a gradient or its change over the curvature, all (K, D + 1).

    Weights and biases keep a sum of 0 over all classes, as gradients do: in other
    directions the objective has little or no curvature.
    """
    quotient = change / curvature
    return quotient - quotient.mean(0)


def _product(a: Tensor, b: Tensor) -> Tensor:
    return torch.dot(a.flatten(), b.flatten())


def _search(objective: LogisticLoss, point: _Point) -> _Point | None:
    """Return the first point along the direction that lowers the objective enough, or None."""
    length = 1.0
    for _ in range(_HALVINGS):
        move = length * point.direction
        evaluation = objective(point.parameters + move)
        fall = _ARMIJO * length * point.slope
        highest = point.value + fall + _NOISE * abs(point.value)
        # A first step mostly serves: a GPU is not asked for its value beforehand.
        is_trusted = length == 1 and move.device.type != "cpu"
        if is_trusted or float(evaluation.value) <= highest:
            after = _next_point(objective, point, move, evaluation)
            if after.value <= highest:
                return after
        # The minimum of the parabola through value, slope and new value, not too near
        # to an end.
        bend = float(evaluation.value) - point.value - point.slope * length
        length *= min(0.5, max(0.1, -point.slope * length / (2 * bend)))
    return None
