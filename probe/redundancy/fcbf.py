"""Redundancy of features: symmetric uncertainty and the Fast Correlation-Based Filter (FCBF).

Symmetric uncertainty measures how much two discrete variables say about each other:

    SU(X, Y) = 2 IG(X|Y) / (H(X) + H(Y))
    IG(X|Y) = H(X) - H(X|Y) = H(X) + H(Y) - H(X, Y)

with entropies H in bits from counts of examples. SU is in [0, 1]: 0 where X and Y are
independent, 1 where each determines the other. For two constants the formula is 0/0; SU
is then 0, as a constant says nothing. Values are rounded to 12 decimals, so that
independent variables have exactly 0.

Sources: Kemker 2018, supplement, eq. 5 to 8; Yu & Liu, Feature Selection for
High-Dimensional Data, ICML 2003. `probe.redundancy.bins` makes features discrete.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import entr

from probe.arrays import Floats, Ints
from probe.errors import InputError

Codes = Ints
"""The bin that each example is in: whole numbers from 0."""


def entropy(x: Codes) -> float:
    """Return H(X) = -sum_i P(x_i) log2 P(x_i), in bits.

    Args:
        x: The bin of each example, (N,).

    Returns:
        H(X), at least 0; 0 for a constant.

    Source: Kemker 2018, eq. 6.

    >>> entropy(np.array([0, 0, 1, 1])), entropy(np.array([0, 1, 2, 3]))
    (1.0, 2.0)
    """
    return _entropy(np.bincount(x))


def conditional_entropy(
    x: Codes,
    y: Codes,
) -> float:
    """Return H(X|Y) = -sum_j P(y_j) sum_i P(x_i|y_j) log2 P(x_i|y_j), in bits.

    Args:
        x: The bin of each example in X, (N,).
        y: The bin of each example in Y, (N,).

    Returns:
        H(X|Y), from 0, where Y determines X, to H(X), where they are independent.

    Raises:
        InputError: The lengths differ.

    Source: Kemker 2018, eq. 7.

    >>> conditional_entropy(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    1.0
    """
    if len(x) != len(y):
        raise InputError(
            f"x has {len(x)} examples, y has {len(y)}: give both of the same examples"
        )
    counts = _joint_counts(x, y)
    entropies = [_entropy(column) for column in counts.T]
    examples = counts.sum(0)
    return float(np.average(entropies, weights=examples))


def information_gain(
    x: Codes,
    y: Codes,
) -> float:
    """Return IG(X|Y) = H(X) - H(X|Y), in bits, rounded to 12 decimals.

    Args:
        x: The bin of each example in X, (N,).
        y: The bin of each example in Y, (N,).

    Returns:
        IG(X|Y), the same for (Y, X): from 0, where X and Y are independent, to H(X).

    Raises:
        InputError: The lengths differ.

    Source: Kemker 2018, eq. 8.

    >>> information_gain(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    1.0
    """
    gain = entropy(x) - conditional_entropy(x, y)
    return max(0.0, round(gain, 12))


def symmetric_uncertainty(codes: Codes) -> Floats:
    """Return SU of every pair of D features.

    It takes time proportional to N D^2 and, besides the result, memory proportional to
    D. Source: Kemker 2018, figure S4.

    Args:
        codes: The bin of each example in each feature, (N, D).

    Returns:
        SU (D, D), exactly symmetric; the diagonal is 1, or 0 for a constant feature.

    >>> symmetric_uncertainty(np.array([[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]])).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    codes = np.asfortranarray(codes)
    bins = codes.max(0).astype(np.intp) + 1
    joint_entropies = _by_counting
    if (bins**2).mean() <= _FEW_CELLS:
        joint_entropies = _by_products
    H_xy = np.zeros((len(bins), len(bins)))
    for first, last in _blocks(bins):
        H_of_rows = joint_entropies(codes[:, first:], bins[first:], last - first)
        H_xy[first:last, first:] = H_of_rows
    # The lower half mirrors the upper one, so that SU is symmetric to the last bit.
    H_xy = np.triu(H_xy) + np.triu(H_xy, 1).T
    H = H_xy.diagonal()  # H(X, X) = H(X)
    return _uncertainty(H[:, None], H, H_xy)


def relevance(
    codes: Codes,
    labels: Codes,
) -> Floats:
    """Return SU of each of D features with the class.

    Args:
        codes: The bin of each example in each feature, (N, D).
        labels: Class numbers (N,) from 0.

    Returns:
        SU (D,); a higher value says more about the class.

    >>> relevance(np.array([[0, 1], [0, 0], [1, 1], [1, 0]]), np.array([2, 2, 0, 0])).tolist()
    [1.0, 0.0]
    """
    features = range(codes.shape[1])
    return _with_each(labels, np.asfortranarray(codes), features)


def non_redundant(
    codes: Codes,
    labels: Codes,
    threshold: float = 0.0,
) -> list[int]:
    """Return the features that FCBF selects, the one with the highest SU with the class first.

    A feature F is relevant if SU(F, C) with the class is above the threshold. Starting
    with the most relevant, each feature that remains (a predominant feature P) removes
    every later feature F with SU(P, F) >= SU(F, C). Equally relevant features are
    ordered by number. Only the SU of predominant features are computed, never the whole
    matrix.

    Args:
        codes: The bin of each example in each feature, (N, D).
        labels: Class numbers (N,) from 0.
        threshold: The threshold delta, in [0, 1).

    Returns:
        The numbers of the features.

    Source: Yu & Liu 2003, figure 2, with threshold 0 by default. Deviation: for them a
    feature at the threshold is relevant, which at threshold 0 would include constants.

    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> non_redundant(np.stack([b, a, 1 - a], axis=1), labels=2 * a + b)
    [0, 1]
    """
    with_class = relevance(codes, labels)
    order = np.argsort(-with_class, kind="stable")
    candidates = order[with_class[order] > threshold]
    codes = np.asfortranarray(codes)
    selected = []
    while candidates.size:
        best = candidates[0]
        candidates = candidates[1:]
        selected.append(int(best))
        su = _with_each(codes[:, best], codes, candidates)
        candidates = candidates[su < with_class[candidates]]
    return selected


# For 60,000 examples on one core a product takes 1 to 2 microseconds per cell of a
# pair's joint counts; counting takes 130 to 300, however many the cells.
_FEW_CELLS = 100
# Bins and examples in one product: some 100 MB for 10,000 bins.
_WIDTH = 512
_AT_ONCE = 1024


def _blocks(bins: Ints) -> list[tuple[int, int]]:
    """Divide the features into blocks (first, last + 1) of about 512 bins together."""
    # The block of each feature, by the number of bins before it.
    group = (np.cumsum(bins) - bins) // _WIDTH
    starts = np.flatnonzero(np.diff(group, prepend=-1)).tolist()
    return list(zip(starts, [*starts[1:], len(bins)], strict=True))


def _by_products(
    codes: Codes,
    bins: Ints,
    count: int,
) -> Floats:
    """Return H(X, Y) of each of the first `count` features with every feature, (count, D).

    The joint counts are products of one-hot codes. In float32 they are exact up to
    2^24, far above the number of examples in one product; the products are added up in
    float64.
    """
    ends = np.cumsum(bins)
    starts = ends - bins
    width = ends[count - 1]
    counts = np.zeros((width, ends[-1]))
    for some in np.split(codes, range(_AT_ONCE, len(codes), _AT_ONCE)):
        hot = np.zeros((len(some), ends[-1]), dtype=np.float32)
        np.put_along_axis(hot, some + starts, 1, axis=1)
        counts += hot[:, :width].T @ hot
    terms = entr(counts / len(codes))
    terms = np.add.reduceat(terms, starts, axis=1)
    terms = np.add.reduceat(terms, starts[:count], axis=0)
    return np.asarray(terms / np.log(2))


def _by_counting(
    codes: Codes,
    bins: Ints,
    count: int,
) -> Floats:
    """Return the same as `_by_products`, from one count of the examples for each pair."""
    joint = np.zeros((count, len(bins)))
    for p in range(count):
        for q in range(p, len(bins)):
            table = _joint_counts(codes[:, p], codes[:, q])
            joint[p, q] = _entropy(table)
    return joint


def _with_each(
    x: Codes,
    codes: Codes,
    features: Sequence[int] | Codes,
) -> Floats:
    """Return SU of one variable x (N,) with each of some features of the codes (N, D)."""
    H = []
    for feature in features:
        table = _joint_counts(x, codes[:, feature])
        entropies = [
            _entropy(table.sum(1)),
            _entropy(table.sum(0)),
            _entropy(table),
        ]
        H.append(entropies)
    H_x, H_y, H_xy = np.reshape(H, (-1, 3)).T
    return _uncertainty(H_x, H_y, H_xy)


def _joint_counts(
    x: Codes,
    y: Codes,
) -> Ints:
    """Count the examples in each pair of a bin of x (N,) and a bin of y (N,): (bins, bins)."""
    rows = int(x.max()) + 1
    columns = int(y.max()) + 1
    cells = x * np.intp(columns) + y
    return np.bincount(cells, minlength=rows * columns).reshape(rows, columns)


def _entropy(counts: Ints) -> float:
    """Return the entropy in bits of the examples' distribution over cells, from their counts."""
    # Sorted, so that features that differ only in the numbering of their bins have
    # exactly the same entropy: FCBF compares for equality.
    occupied = counts[counts > 0]
    p = np.sort(occupied) / counts.sum()
    bits = p * np.log2(p)
    return float(-bits.sum())


def _uncertainty(
    H_x: Floats,
    H_y: Floats,
    H_xy: Floats,
) -> Floats:
    """Return SU from the entropies of each variable and of both together."""
    total = H_x + H_y
    gain = total - H_xy
    shared = np.zeros_like(H_xy)
    np.divide(2 * gain, total, out=shared, where=total > 0)
    return np.clip(shared, 0, 1).round(12)
