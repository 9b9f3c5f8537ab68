"""L-BFGS for logistic regression, preconditioned by the data's own covariance.

Nocedal and Wright 2006, algorithms 7.4 and 7.5. The initial approximation of the second
derivatives is C w X'X + I for each class, w the mean of its p (1 - p): with w = 1/2 it
is Boehning's bound (1992). On the features of a convolutional network, it reaches a
thousandth of the objective in half the iterations that plain L-BFGS takes to reach a
hundredth.
"""

from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

_MEMORY = 6  # steps that are remembered
_WIDEST = 2048  # features, up to which X'X is worth its time
_RIDGE = 1e-6
_LEAST = (
    1e-3  # of the sum of p (1 - p): biases are not penalised and need some curvature
)
_ARMIJO = 1e-4
_NOISE = 1e-9  # of the objective: what rounding leaves uncertain
_HALVINGS = 30
_CHUNK = 2**20  # numbers whose rows stay in a CPU's cache between logits and gradient
_LARGE_CHUNK = 65536  # rows on other devices
_LOWEST = (
    -80.0
)  # below the largest logit: exp of less is slow (denormal) and adds nothing

_Pairs = tuple[
    tuple[Tensor, Tensor], ...
]  # a step and the gradient's change, both flat


_Evaluation = tuple[Tensor, Tensor, Tensor]
"""The objective at a point: its value, gradient (K, D + 1) float64, and `weight` (K, 1).

The weight of a class is the sum of its p (1 - p) over all examples, which sets the
curvature.
"""


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

    def __init__(self, x: Tensor, y: Tensor, classes: int, C: float) -> None:
        count, width = x.shape
        size = (
            max(1, _CHUNK // (width + 4 * classes))
            if x.device.type == "cpu"
            else _LARGE_CHUNK
        )
        split = (
            x.split(size),
            y[None].split(size, 1),
            x.new_full((1, count), -1.0).split(size, 1),
        )
        self._chunks = list(zip(*split, strict=True))
        self._C = C
        self.start = x.new_zeros(classes, width + 1, dtype=torch.float64)
        self._axes: Tensor | None = None
        self._values, self._penalty = self.start.new_ones(2, width + 1)
        self._penalty[-1] = 0
        if width <= _WIDEST:
            gram = x.new_zeros(width, width)
            for part in x.split(8192):
                gram.addmm_(part.T, part)
            gram /= count
            gram.diagonal().add_(_RIDGE)
            values, axes = _eigenvectors(gram)
            self._values[:-1], self._axes = values.clamp(min=0), axes.to(x.dtype)

    def curvature(self, weight: Tensor) -> Tensor:
        """Return the second derivatives (K, D + 1) at a point where p (1 - p) sums to `weight`."""
        return torch.addcmul(
            self._penalty, (self._C * weight).clamp(min=_LEAST), self._values
        )

    def weight(self, parameters: Tensor) -> Tensor:
        """Return W (K, D) of parameters (K, D + 1) in the coordinates of the search."""
        return _turned(parameters[:, :-1], None if self._axes is None else self._axes.T)

    def __call__(self, parameters: Tensor) -> _Evaluation:
        """Return the objective at parameters (K, D + 1), the last column being the biases."""
        kind = self._chunks[0][0].dtype
        weight = self.weight(parameters)
        narrow = weight.to(kind)
        bias = parameters[:, -1:].to(kind)
        loss = parameters.new_zeros(())
        slope = weight / self._C
        tilt = torch.zeros_like(parameters[:, -1:])
        curve = torch.zeros_like(parameters[:, -1:])
        for rows, labels, taken in self._chunks:
            logs = torch.addmm(bias, narrow, rows.T).log_softmax(0)
            loss -= logs.gather(0, labels).sum(dtype=torch.float64)
            chances = logs.clamp_(min=_LOWEST).exp_()
            curve += (chances - chances.square()).sum(1, keepdim=True)
            chances.scatter_add_(0, labels, taken)
            slope += chances @ rows
            tilt += chances.sum(1, keepdim=True)
        value = self._C * loss + weight.square().sum() / 2
        gradient = torch.cat([_turned(slope, self._axes), tilt], 1).mul_(self._C)
        return value, gradient, curve


def _turned(weight: Tensor, axes: Tensor | None) -> Tensor:
    """Return W or its gradient (K, D), float64, in the coordinates of `axes`; None = unchanged."""
    return weight if axes is None else (weight.to(axes.dtype) @ axes).double()


def _eigenvectors(gram: Tensor) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues (D,) and, as columns, the eigenvectors (D, D) of a matrix (D, D)."""
    # In float32 LAPACK's divide and conquer may fail on rows of zeros, as of dead
    # units.
    with suppress(RuntimeError):
        values, axes = torch.linalg.eigh(gram)
        if bool(values.isfinite().all()) and bool(axes.isfinite().all()):
            return values, axes
    values, axes = torch.linalg.eigh(gram.double())
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
    point = _point(objective, objective.start, objective(objective.start))
    gain = torch.inf
    for iterations in range(most + 1):
        gain = -point.slope / 2 / max(point.value, torch.finfo(torch.float64).tiny)
        if gain <= tolerance or iterations == most:
            break
        if (after := _search(objective, point)) is None:
            break
        point = after
    return point.where, point.value, iterations, gain


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the search (K, D + 1), and the direction in which to go on from it.

    `slope` is the derivative of the objective in this direction.
    """

    where: Tensor
    gradient: Tensor
    pairs: _Pairs
    direction: Tensor
    value: float
    slope: float


def _point(
    objective: LogisticLoss,
    where: Tensor,
    evaluation: _Evaluation,
    before: _Point | None = None,
    step: Tensor | None = None,
) -> _Point:
    """Return the point at which the objective was evaluated, reached from another by a step.

    The host waits for the device once: the step is taken to be one to remember, as
    nearly all are.
    """
    value, gradient, weight = evaluation
    pairs: _Pairs = ()
    curvature = objective.curvature(weight)
    bend = value.new_ones(())
    if before is not None and step is not None:
        change = gradient - before.gradient
        pairs = (*before.pairs, (step.flatten(), change.flatten()))[-_MEMORY:]
        bend = _product(step, change)
    direction = _direction(gradient, pairs, curvature)
    numbers = torch.stack([value, _product(direction, gradient), bend]).tolist()
    if before is not None and not numbers[2] > 0:
        direction = _direction(gradient, pairs := before.pairs, curvature)
        numbers[1] = float(_product(direction, gradient))
    return _Point(where, gradient, pairs, direction, *numbers[:2])


def _direction(gradient: Tensor, pairs: _Pairs, curvature: Tensor) -> Tensor:
    """Return -H g (K, D + 1): the two loops over the remembered steps and changes.

    Each loop is a triangular system with an unknown for each pair. curvature: (K, D +
    1).
    """
    if not pairs:
        return _divided(-gradient, curvature)
    steps, changes = (torch.stack(column) for column in zip(*pairs, strict=True))
    products = steps @ changes.T
    newest = changes[-1]
    upper = products.triu()
    shares = torch.linalg.solve_triangular(
        upper, steps @ -gradient.view(-1, 1), upper=True
    )
    rest = _divided(-gradient - (changes.T @ shares).view_as(gradient), curvature)
    rest *= products[-1, -1] / torch.dot(newest, newest / curvature.flatten())
    gaps = products.diagonal()[:, None] * shares - changes @ rest.view(-1, 1)
    more = torch.linalg.solve_triangular(upper.T, gaps, upper=False)
    return rest.add_((steps.T @ more).view_as(rest))


def _divided(change: Tensor, curvature: Tensor) -> Tensor:
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
    slope = point.slope
    for _ in range(_HALVINGS):
        step = length * point.direction
        evaluation = objective(where := point.where + step)
        enough = point.value + _ARMIJO * length * slope + _NOISE * abs(point.value)
        # A first step mostly serves, so that a GPU is not asked for its value
        # beforehand.
        if (length == 1 and where.device.type != "cpu") or float(
            evaluation[0]
        ) <= enough:
            after = _point(objective, where, evaluation, point, step)
            if after.value <= enough:
                return after
        # The minimum of the parabola through value, slope and new value, not too near
        # to an end.
        bend = float(evaluation[0]) - point.value - slope * length
        length *= min(0.5, max(0.1, -slope * length / (2 * bend)))
    return None
