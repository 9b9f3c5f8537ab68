"""Logistic regression on convolutional features: our L-BFGS and scikit-learn's."""

import os
from functools import partial

import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional
from torchvision.datasets import CIFAR10

from probe import Examples, Recipe
from probe.readouts.lbfgs import LogisticLoss, minimize
from probe.readouts.standardization import standardization
from probe.training.loop import fit
from tests.bench.timing import interleaved

# Numbers of examples, and grids to which the 64 channels are averaged.
CASES = (
    (5000, (4, 4)),
    (20000, (1, 2)),
)
GAP = 1e-3  # of the minimum


def fits(repeats):
    """Seconds until the objective is within a thousandth of its minimum, and the iterations."""
    values, y = features()
    yield "examples, features", "ours", "scikit-learn"
    for count, grid in CASES:
        labels = y[:count]
        pooled = functional.adaptive_avg_pool2d(values[:count], grid).flatten(1)
        x = standardization(pooled)(pooled)
        exact = LogisticLoss(x.double(), labels, 10, 1.0)
        _, least, _, _ = minimize(exact, 1e-7, 800)
        iterations = {}
        for method in (ours, by_sklearn):
            k = 8
            while objective(x, labels, *method(x, labels, k)) > (1 + GAP) * least:
                k += k // 4
            iterations[method] = k
        fits = {f.__name__: partial(f, x, labels, k) for f, k in iterations.items()}
        seconds = interleaved(fits, repeats).values()
        pairs = zip(seconds, iterations.values(), strict=True)
        yield f"{count}, {x.shape[1]}", *(f"{s:.2f} ({k})" for s, k in pairs)


def features():
    """Return the last maps (N, 64, 8, 8) of a network trained for three epochs, and the labels."""
    data = CIFAR10(os.environ["PROBE_DATA"])
    x = torch.from_numpy(data.data).permute(0, 3, 1, 2).float().div(255).contiguous()
    y = torch.tensor(data.targets)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4096, 10),
    )
    fit(model, Examples(x[-10000:], y[-10000:]), Recipe(epochs=3), torch.Generator())
    with torch.no_grad():
        return model[:4](x[:20000]), y[:20000]


def objective(x, y, weight, bias):
    """Return the sum of the losses and half the squared norm of the weights."""
    logits = x.double() @ weight.T + bias
    loss = functional.cross_entropy(logits, y, reduction="sum")
    return float(loss + weight.square().sum() / 2)


def ours(x, y, iterations):
    """Fit by `probe.readouts.lbfgs`."""
    loss = LogisticLoss(x, y, 10, 1.0)
    parameters, *_ = minimize(loss, 0.0, iterations)
    return loss.weight(parameters), parameters[:, -1]


def by_sklearn(x, y, iterations):
    """Fit by scikit-learn."""
    model = LogisticRegression(tol=1e-15, max_iter=iterations)
    model.fit(x.numpy(), y.numpy())
    return torch.tensor(model.coef_).double(), torch.tensor(model.intercept_).double()
