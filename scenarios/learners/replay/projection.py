"""GEM's projection: the gradient nearest to the new task's along which no earlier loss rises."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from probe.errors import InputError

Floats = NDArray[np.float64]


def project(gradient: Tensor, past: Tensor, margin: float = 0.0) -> Tensor:
    """Return the g' nearest to g with <g', g_k> >= 0 for every k; g itself where it is such a one.

    gradient: g (P,); past: the g_k (t, P), any of them zero or collinear; margin: a lower bound of
    the dual variables, 0 or more: above 0, a g' that is not nearest but leans towards the g_k.
    g' = g + sum_k v_k g_k, computed in float64, where v minimizes 1/2 |g'|^2 over v >= margin (the
    dual problem of Lopez-Paz and Ranzato 2017, section 3). Raises InputError if a gradient is not
    finite.

    >>> project(torch.tensor([1.0, -1.0]), torch.tensor([[0.0, 2.0]])).tolist()
    [1.0, 0.0]
    """
    rows = torch.vstack([past, gradient]).double()
    gram = (rows @ rows.T).cpu().numpy()
    if not np.isfinite(gram).all():
        raise InputError("training diverged: a gradient is not finite; lower learning_rate")
    if (gram[-1, :-1] >= 0).all():
        return gradient
    weights = np.append(dual(gram[:-1, :-1], gram[:-1, -1], margin), 1.0)
    return (rows.T @ torch.from_numpy(weights).to(rows.device)).to(gradient.dtype)


def dual(gram: Floats, products: Floats, margin: float) -> Floats:
    """Return the v (t,) >= margin that minimizes 1/2 v' G v + c' v, exactly up to rounding.

    gram: G (t, t), of vectors g_k; products: c (t,), of each of them with one more vector. With the
    g_k scaled to length 1, v = u + margin, and a square root A of G, it is the non-negative
    least squares problem min_{u >= 0} |A u - b|^2, which always has a solution.
    """
    lengths = np.sqrt(np.diag(gram))
    lengths[lengths == 0] = 1
    scaled = gram / np.outer(lengths, lengths)
    linear = products / lengths + margin * scaled @ lengths
    values, vectors = np.linalg.eigh(scaled)
    kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    u, _ = nnls(roots[:, None] * vectors.T, -(vectors.T @ linear) / roots)
    solution: Floats = u / lengths + margin
    return solution
