"""Discretization of features, for entropies: bins of equal width, or split where classes change.

Sources: Kemker 2018 and Yu & Liu 2003 compute entropies of discrete features, without
saying how to discretize continuous ones; Yu & Liu refer to Fayyad & Irani (IJCAI 1993).
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import entr

from probe.arrays import Array, Floats, Ints
from probe.errors import InputError

MOST_BINS = 256
"""The largest number of bins of a feature: one for each grey level of 8-bit images."""


def equal_width(
    x: Array,
    bins: int,
) -> Ints:
    """Put the values of each feature into bins of equal width.

    The bins divide each feature's range in x, from its smallest to its largest value. A
    bin includes its lower edge, and the last bin also its upper edge.

    Args:
        x: Finite values (N, D).
        bins: The number of bins, 2 to 256.

    Returns:
        The number of each value's bin, from 0, (N, D); all 0 for a constant feature.

    Raises:
        InputError: The number of bins is out of range.

    >>> equal_width(np.array([[0.0, 7], [1, 7], [2, 7], [4, 7]]), bins=2).T.tolist()
    [[0, 0, 1, 1], [0, 0, 0, 0]]
    """
    if not 2 <= bins <= MOST_BINS:
        raise InputError(f"a feature can have 2 to {MOST_BINS} bins, not {bins}")
    # Feature by feature in memory, as all that uses them takes a feature at a time.
    codes = np.zeros(x.shape, dtype=np.uint8, order="F")
    for feature in range(x.shape[1]):
        values = x[:, feature].astype(np.float64)
        low = values.min()
        high = values.max()
        if low < high:
            position = (values - low) / (high - low)
            codes[:, feature] = np.minimum(position * bins, bins - 1)
    return codes


def minimum_description(
    x: Array,
    labels: Ints,
) -> Ints:
    """Put the values of each feature into bins that tell the classes apart.

    A feature is cut in two where the classes' entropy within the parts is smallest.
    Each part is cut again as long as a cut saves more bits in the labels than it takes
    to describe it.

    Args:
        x: Finite values (N, D).
        labels: Class numbers (N,) from 0.

    Returns:
        The number of each value's bin, from 0, (N, D); all 0 for a feature that says
        nothing about the classes.

    Source: Fayyad & Irani 1993, their criterion of minimum description length.
    Deviation: cuts are only at the inner edges of 256 bins of equal width, not between
    any two values; for 8-bit values this is the same.
    """
    levels = equal_width(x, MOST_BINS)
    classes = int(labels.max()) + 1
    # In place: a level's bin is the number of cuts at or below it.
    for level in levels.T:
        cells = level * np.intp(classes) + labels
        table = np.bincount(cells, minlength=MOST_BINS * classes)
        cuts = list(_cuts(table.reshape(MOST_BINS, classes)))
        bin_of_level = np.searchsorted(cuts, np.arange(MOST_BINS), side="right")
        level[:] = bin_of_level[level]
    return levels


def _cuts(
    table: Ints,
    first: int = 0,
) -> Iterator[int]:
    """Yield the levels that begin a new bin, in order; table: (levels, K) numbers of examples."""
    cut = _best_cut(table)
    if cut is not None:
        yield from _cuts(table[:cut], first)
        yield first + cut
        yield from _cuts(table[cut:], first + cut)


def _best_cut(table: Ints) -> int | None:
    """Return the row that begins the second part of the best cut, or None if none is worth it.

    table: (levels, K) numbers of examples; N, k, k1, k2 and delta are those of Fayyad &
        Irani.
    """
    total = table.sum(0)
    lower = table.cumsum(0)[:-1]
    parts = np.stack([lower, total - lower])
    sizes = parts.sum(2)
    entropies = _entropy(parts)
    N = total.sum()
    within = (sizes * entropies).sum(0) / N
    # A cut that leaves a part without examples is none.
    within[(sizes == 0).any(0)] = np.inf
    if not np.isfinite(within).any():
        return None
    # Rounded, so that of cuts that are equally good the first is taken.
    best = int(within.round(12).argmin())
    k = (total > 0).sum()
    k1, k2 = (parts[:, best] > 0).sum(1)
    before = float(_entropy(total))
    change = k * before - k1 * entropies[0, best] - k2 * entropies[1, best]
    # log2(3^k - 2), written so that many classes do not overflow.
    delta = k * np.log2(3) + np.log2(1 - 2 * 3.0**-k) - change
    gain = before - within[best]
    cost = (np.log2(N - 1) + delta) / N
    return best + 1 if gain > cost else None


def _entropy(counts: Ints) -> Floats:
    """Return the entropy in bits of the counts along the last axis; 0 if all counts are 0."""
    total = counts.sum(-1, keepdims=True)
    p = counts / np.maximum(total, 1)
    nats = entr(p).sum(-1)
    return np.asarray(nats / np.log(2))
