"""Classes by distance: the nearest class mean, and the majority of the nearest neighbours."""

import torch
from torch import Tensor

from probe.readouts.standardized import Standardization

_ROWS, _COLUMNS = 512, 8192  # of the table of distances that is in memory at a time


def nearest_class_mean(x: Tensor, y: Tensor, test: Tensor, classes: int) -> Tensor:
    """Return for each test row the class (M,) int64 with the nearest mean, Euclidean.

    Both x (N, D) and test (M, D) are standardised by the statistics of x; y: (N,) int64, below
    classes. A class without examples is never predicted; of equally near ones the lowest is.

    >>> x, y = torch.tensor([[0.0], [2.0], [9.0]]), torch.tensor([0, 0, 2])
    >>> nearest_class_mean(x, y, torch.tensor([[1.0], [7.0]]), 3).tolist()
    [0, 2]
    """
    standard = Standardization.of(x)
    sums = torch.zeros(classes, x.shape[1], dtype=torch.float64, device=x.device)
    for part, labels in zip(x.split(_COLUMNS), y.split(_COLUMNS), strict=True):
        sums.index_add_(0, labels, standard(part).double())
    counts = torch.bincount(y, minlength=classes)
    means = sums / counts.clamp(min=1)[:, None]
    # The squared distance without what all classes share, in float64 as the means are few.
    offset = (means.square().sum(1) / 2).masked_fill(counts == 0, torch.inf)
    near = [(standard(part).double() @ means.T - offset).argmax(1) for part in test.split(_COLUMNS)]
    return torch.cat(near)


def k_nearest(x: Tensor, y: Tensor, test: Tensor, classes: int, k: int = 10) -> Tensor:
    """Return for each test row the class (M,) int64 that most of the k nearest rows of x have.

    Both x (N, D) and test (M, D) are standardised by the statistics of x; y: (N,) int64, below
    classes; k: up to N. Each neighbour has one vote; of classes with as many the lowest is taken.

    >>> x, y = torch.tensor([[0.0], [1.0], [9.0], [8.0]]), torch.tensor([0, 0, 1, 1])
    >>> k_nearest(x, y, torch.tensor([[2.0], [7.0]]), 2, k=3).tolist()
    [0, 1]
    """
    standard = Standardization.of(x)
    known = standard(x)
    offset = known.square().sum(1, dtype=torch.float64).div(2).float()
    predicted = []
    for part in test.split(_ROWS):
        labels = y[_nearest(standard(part), known, offset, k)]
        votes = torch.zeros(len(part), classes, dtype=torch.int64, device=x.device)
        predicted.append(votes.scatter_add_(1, labels, torch.ones_like(labels)).argmax(1))
    return torch.cat(predicted)


def _nearest(rows: Tensor, known: Tensor, offset: Tensor, k: int) -> Tensor:
    """Return the numbers (B, k) of the known rows (N, D) that are nearest to each row (B, D).

    offset: half the squared norms of the known rows (N,).
    """
    best = rows.new_empty(len(rows), 0)
    numbers = torch.empty(len(rows), 0, dtype=torch.int64, device=rows.device)
    for start in range(0, len(known), _COLUMNS):
        where = slice(start, start + _COLUMNS)
        # Nearer is larger: half the squared distance less what a row's all have, negative.
        near = torch.addmm(offset[where], rows, known[where].T, beta=-1)
        top = near.topk(min(k, near.shape[1]), 1)
        both = torch.cat([best, top.values], 1)
        best, at = both.topk(min(k, both.shape[1]), 1)
        numbers = torch.cat([numbers, top.indices + start], 1).gather(1, at)
    return numbers
