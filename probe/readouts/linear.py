"""A linear probe: multinomial logistic regression to convergence on the standardized feature."""

import torch
from torch import Tensor

from probe.batch import Transform
from probe.immutable import immutable
from probe.readouts.lbfgs import LogisticLoss, minimize
from probe.readouts.standardization import standardization

TOLERANCE = 1e-4
"""The estimated remaining gain at which a fit stops, as a share of the objective.

The true one may be 30 times as large, see `minimize`.
"""

UNFINISHED = "the logistic regression had not converged"
"""The beginning of the note on a fit that did not converge."""

_EXACT = 1e-7  # below it float32 would hide what is left
_MOST = 500  # iterations
_ROWS = 8192  # predicted at a time


@immutable(eq=False)
class LinearModel:
    """A linear model: logits = weight (K, D) times the standardized feature + bias (K,).

    A class without training examples has weight 0 and bias -inf: it is never predicted.

    Attributes:
        weight: The weights (K, D), float64.
        bias: The biases (K,), float64.
        standard: Function that standardizes the feature's columns.
        value: The minimum of C sum_i logloss_i + 1/2 ||weight||^2 over the training
            examples.
        iterations: The number of iterations of L-BFGS.
        remaining: The gain that may remain, as a share of the minimum.
        converged: Whether this gain is below the tolerance.
        notes: Remarks on the fit, a sentence each.
    """

    weight: Tensor
    bias: Tensor
    standard: Transform
    value: float = 0.0
    iterations: int = 0
    remaining: float = 0.0
    converged: bool = True
    notes: tuple[str, ...] = ()

    def predict(self, x: Tensor) -> Tensor:
        """Return the classes (M,) int64 of features (M, D), not yet standardised."""
        weight = self.weight.float()
        bias = self.bias.float()
        parts = (self.standard(part) for part in x.split(_ROWS))
        return torch.cat(
            [torch.addmm(bias, part, weight.T).argmax(1) for part in parts]
        )


def fit_linear(
    x: Tensor,
    y: Tensor,
    classes: int,
    C: float = 1.0,
    tolerance: float = TOLERANCE,
) -> LinearModel:
    """Fit the linear probe of Davari et al. (CVPR 2022) to a feature.

    The objective is scikit-learn's for K >= 3. With two classes, each class has its own
    weights, so the penalty is half of that in scikit-learn's binary form. Classes that
    are not in y are left out and never predicted. At the default tolerance a few
    predictions in a hundred may still change; a tolerance of 1e-9 in float64 reaches
    scikit-learn's objective to 1e-6.

    Args:
        x: The feature, (N, D).
        y: The labels, (N,) int64.
        classes: Number of classes K.
        C: The weight of the examples against the penalty.
        tolerance: The remaining gain at which to stop, as a share of the objective.

    Returns:
        The fitted model.

    >>> x, y = torch.tensor([[0.0], [1.0], [4.0], [5.0]]), torch.tensor([0, 0, 1, 1])
    >>> model = fit_linear(x, y, 3)
    >>> model.predict(torch.tensor([[0.5], [4.5]])).tolist(), model.converged
    ([0, 1], True)
    """
    standard = standardization(x)
    present, labels = y.unique(return_inverse=True)
    weight = x.new_zeros(classes, x.shape[1], dtype=torch.float64)
    bias = x.new_full((classes,), -torch.inf, dtype=torch.float64)
    if len(present) == 1:
        bias[present] = 0.0
        note = (
            f"all training examples are of class {int(present)}, which is always "
            "predicted"
        )
        return LinearModel(
            weight=weight,
            bias=bias,
            standard=standard,
            notes=(note,),
        )
    if tolerance < _EXACT:
        x = x.double()
    objective = LogisticLoss(standard(x), labels, len(present), C)
    parameters, value, iterations, remaining = minimize(objective, tolerance, _MOST)
    weight[present] = objective.weight(parameters)
    bias[present] = parameters[:, -1]
    note = (
        f"{UNFINISHED} after {iterations} iterations: "
        f"about {remaining:.1e} of its objective could still be gained"
    )
    return LinearModel(
        weight=weight,
        bias=bias,
        standard=standard,
        value=value,
        iterations=iterations,
        remaining=remaining,
        converged=remaining <= tolerance,
        notes=() if remaining <= tolerance else (note,),
    )
