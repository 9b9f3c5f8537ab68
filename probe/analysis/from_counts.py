"""Right answers on test examples, made up where only confusion counts were kept."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from probe.errors import InputError


def right_of_counts(
    tables: ArrayLike, labels: NDArray[np.integer], generator: torch.Generator
) -> NDArray[np.bool_]:
    """Lay the right answers of each class out over its examples, (..., n), by chance.

    tables: (..., K, K), true class x predicted class, such as (S, O, K, K) for the seeds and
    orders of one model; labels: (n,) in 0..K-1, of the examples that were counted. Raises
    InputError where the labels are not those counted.

    All tables of a call share one random order of the examples, the easiest first: give the
    seeds of one model in one call, so that what is hard for one is hard for all, the widest
    that the test set's part of an interval can be. Give every other model a generator of
    another state: their errors then count as independent, which again widens the intervals of
    differences. In made-up studies they cover the truth in 96 to 100 %. Laid out anew for every
    seed, they would lose the test set's part, and cover it in 41 to 96 %.
    """
    counts, y = np.asarray(tables), np.asarray(labels)
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2]:
        raise InputError(f"counts must be (..., K, K) tables, got shape {counts.shape}")
    K = counts.shape[-1]
    fit = y.ndim == 1 and y.size and y.min() >= 0 and y.max() < K
    if not fit or (counts.sum(axis=-1) != np.bincount(y, minlength=K)).any():
        raise InputError("the labels are not those of the tables: each class needs its own number")
    chance = torch.rand(len(y), generator=generator, dtype=torch.float64).numpy()
    order = np.lexsort((chance, y))
    sizes = np.bincount(y, minlength=K)
    rank = np.empty(len(y), dtype=np.int64)
    rank[order] = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    return np.asarray(rank < right[..., y])
