"""Seeds times test examples, a crossed design: the variance of a mean over both.

All models are tested on the same examples, and an example that is hard for one seed is hard for
the next: neither the seeds nor the examples alone say how far off a mean is.
Source: Searle, Casella & McCulloch, Variance Components, 1992, section 4.3 (two-way, balanced).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from probe.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The variance of a mean, >= 0, and its degrees of freedom, 1 or more."""

    variance: float
    df: float

    def half_width(self, level: float) -> float:
        """Return half the width of the t interval at a level in (0, 1)."""
        if not self.variance:
            return 0.0
        return float(stdtrit(self.df, 0.5 + level / 2) * np.sqrt(self.variance))

    def p_above(self, difference: float) -> float:
        """Return how likely a difference of this size or above is where the truth is 0."""
        if not self.variance:
            return float(difference <= 0)
        return float(stdtr(self.df, -difference / np.sqrt(self.variance)))


class Design:
    """n test examples in strata, each with its weight in the mean.

    weights: (n,), >= 0, of sum 1; an example of weight 0 is no part of it. strata: (n,) whole
    numbers, such as one for each task and class: the test set has a fixed number of each. Strata
    of one example, which tell nothing of their own spread, are joined with others. Raises
    InputError for weights that are none, and for fewer than 2 examples.
    """

    def __init__(self, weights: Floats, strata: NDArray[np.integer]) -> None:
        w, kinds = np.asarray(weights, dtype=np.float64), np.asarray(strata)
        if w.ndim != 1 or w.shape != kinds.shape:
            raise InputError(
                f"got weights {w.shape} and strata {kinds.shape}: give one of each per example"
            )
        if not ((w >= 0).all() and abs(w.sum() - 1) < 1e-9):
            raise InputError(f"weights must be 0 or more and sum to 1, got a sum of {w.sum():g}")
        used = np.flatnonzero(w)
        if len(used) < 2:
            raise InputError(f"got {len(used)} test examples with a weight: give 2 or more")
        codes = _joined(kinds[used])
        order = np.argsort(codes, kind="stable")
        self.examples = len(w)
        self.sizes = np.bincount(codes)
        self._used = used[order]
        self._starts = np.cumsum(self.sizes) - self.sizes
        # The mean of what is scaled so, over a stratum, is the stratum's part in the whole mean.
        self._scale = w[self._used] * np.repeat(self.sizes, self.sizes)

    def scaled(self, e: Floats) -> Floats:
        """Return the parts that seeds and examples have in the mean, sorted by stratum.

        e: (S, n), a finite value for every seed and test example. Raises InputError otherwise.
        """
        given = np.asarray(e, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.examples or not len(given):
            raise InputError(f"got values of shape {given.shape}, expected (S, {self.examples})")
        parts = given[:, self._used] * self._scale
        if not np.isfinite(parts).all():
            raise InputError("values of seeds and examples must be finite: leave out what is not")
        return parts

    def means(self, parts: Floats) -> Floats:
        """Return the mean of each seed, (S,), from what `scaled` gave, (S, m)."""
        return np.asarray(self._by_stratum(parts).sum(axis=1))

    def components(self, parts: Floats) -> Floats:
        """Return V_seeds, V_items and V_both, (3,), of the mean over S seeds, from `scaled`.

        V_seeds: of the seeds' means, sample variance / S. V_items: over strata, the sample
        variance of the examples' means over seeds / n_c. V_both: that of seeds and examples
        together, the residual part, / (n_c S). Each is a quadratic form in the values. For one
        seed the first and the last are 0: they cannot be told.
        """
        S, strata = len(parts), self._by_stratum(parts)
        by_example = parts.mean(axis=0)
        apart = by_example - np.repeat(strata.mean(axis=0), self.sizes)
        cells = self.sizes * (self.sizes - 1.0)
        items = (np.add.reduceat(apart**2, self._starts) / cells).sum()
        if S == 1:
            return np.array([0.0, items, 0.0])
        seeds = strata.sum(axis=1).var(ddof=1) / S
        residual = parts - apart - np.repeat(strata, self.sizes, axis=1)
        squares = np.add.reduceat((residual**2).sum(axis=0), self._starts)
        return np.array([seeds, items, (squares / cells).sum() / (S * (S - 1))])

    def spread(self, components: Floats, seeds: int) -> Spread:
        """Return V = V_seeds + max(V_items - V_both, 0) and its degrees of freedom.

        V_seeds holds the seeds' own part and the residual, V_items the examples' own part and
        the residual once more, so that V_both comes off: V is unbiased but for the floor. V is
        never below V_seeds. A floor for V_seeds as well (at V_both) would make intervals of
        3 seeds cover 98 to 99 %.

        1/df is the mean of 1/(S - 1) and 1/(n - strata), weighted by the parts' share of V. This
        is Satterthwaite's formula but for the shares' exponent, 1 instead of 2: with 2, seeds
        that happen to agree are believed too much, and 95 % intervals of 3 seeds cover 92 % where
        the seeds' part is 10 times that of the examples; with 1, 94 to 96 % at any ratio.
        """
        by_seeds, items, both = np.maximum(components, 0).tolist()
        own = max(items - both, 0.0)
        total = by_seeds + own
        if not total:
            return Spread(variance=0.0, df=np.inf)
        inverse = own / int((self.sizes - 1).sum())
        if seeds > 1:
            inverse += by_seeds / (seeds - 1)
        return Spread(variance=total, df=total / inverse)

    def _by_stratum(self, parts: Floats) -> Floats:
        """Return the means by seed and stratum, (S, strata)."""
        return np.asarray(np.add.reduceat(parts, self._starts, axis=1) / self.sizes)


def _joined(strata: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return strata (n,) numbered from 0, each with 2 examples or more."""
    _, codes, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    single = sizes == 1
    if single.any():
        # Single ones become one stratum; what is still alone goes to the largest.
        alone = single.sum() == 1
        codes = np.where(single[codes], int(sizes.argmax()) if alone else len(sizes), codes)
        codes = np.unique(codes, return_inverse=True)[1]
    return np.asarray(codes, dtype=np.intp)
