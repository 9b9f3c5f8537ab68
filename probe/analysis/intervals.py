"""Means over seeds, and intervals of means and of ratios over seeds and test examples.

The unit of replication is the seed: values of several orders are averaged within a seed
first. The second source of error is the finite test set, which all models share; see
`probe.analysis.variance`. For the networks at hand, rather than a way of training, an
interval is over test examples only: see `mean_over_examples`.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np

from probe.analysis.variance import Design
from probe.arrays import Floats
from probe.immutable import immutable

LEVEL = 0.95  # of an interval, where none is given
_FAR = 1e9  # a ratio so large that its interval has no end


@immutable
class Estimate:
    """A value with its interval.

    Attributes:
        value: The point estimate.
        low: Lower end of the interval, in the value's unit.
        high: Upper end of the interval.
        seeds: The number of seeds averaged.
        seed_values: The value of each seed, empty for a ratio.
    """

    value: float
    low: float
    high: float
    seeds: int
    seed_values: tuple[float, ...] = ()


@immutable
class SeedMean:
    """A mean over seeds.

    Attributes:
        mean: The mean.
        std: The sample standard deviation (ddof=1) over the seeds, NaN for one seed.
        seeds: The number of seeds averaged.
    """

    mean: float
    std: float
    seeds: int


def mean_over_seeds(scores: Iterable[tuple[int, float]]) -> SeedMean | None:
    """Average (seed, score) pairs over the orders within each seed first, then over the seeds.

    Source: Murata 2020, section 4. NaN means "not measured" and is ignored; the result
    is None if nothing was measured. The order of the pairs does not matter.

    >>> mean_over_seeds([(0, 0.25), (0, 0.75), (1, 1.0)])
    SeedMean(mean=0.75, std=0.3535533905932738, seeds=2)
    """
    runs: defaultdict[int, list[float]] = defaultdict(list)
    for seed, score in scores:
        if not math.isnan(score):
            runs[seed].append(score)
    if not runs:
        return None
    # The unit of replication is the seed: its orders are no samples of their own. fmean
    # and stdev sum exactly, so that the last bit does not depend on the order in which
    # runs finish.
    means = list(map(fmean, runs.values()))
    std = stdev(means) if len(means) > 1 else math.nan
    return SeedMean(mean=fmean(means), std=std, seeds=len(means))


def half_width(std: float, seeds: int) -> float:
    """Return half the length of the 95 % t interval of a mean over seeds, NaN for one seed.

    Args:
        std: The sample standard deviation over the seeds.
        seeds: The number of seeds.

    >>> round(half_width(1.0, 3), 2)
    2.48
    """
    from scipy.special import stdtrit

    return float(stdtrit(seeds - 1, (1 + LEVEL) / 2)) * std / math.sqrt(seeds)


def mean_of(design: Design, e: Floats, level: float = LEVEL) -> Estimate:
    """Return the mean over seeds of sum_i w_i e_si, with its t interval.

    95 % intervals cover 94 to 97 % from 3 seeds on, with 2 seeds 93 to 97 %. The
    interval of a single seed is over test examples.

    Args:
        design: The weights w_i and the strata of the n test examples.
        e: Values (S, n) by seed and test example, such as one model's correctness (1 or
            0) minus another's. If all are 0, the interval is [0, 0].
        level: The level of the interval, in (0, 1).

    Returns:
        The mean, with the value of each seed.

    >>> design = Design(np.full(2, 0.5), np.zeros(2, int))
    >>> mean_of(design, np.array([[1.0, 0], [1, 1], [0, 0]]), LEVEL).value
    0.5
    """
    parts = design.scaled(e)
    S = len(parts)
    means = design.means(parts)
    value = float(means.mean())
    half = design.half_width(design.components(parts), S, level)
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        seeds=S,
        seed_values=tuple(means.tolist()),
    )


def mean_over_examples(design: Design, e: Floats, level: float = LEVEL) -> Estimate:
    """Return the mean of `mean_of` with an interval over test examples, but not over seeds.

    It speaks of these networks, and not of other trainings.

    Args:
        design: The weights and strata of the n test examples.
        e: Values (S, n) by seed and test example, averaged over the seeds first.
        level: The level of the interval, in (0, 1).

    Returns:
        The mean, with the value of each seed.

    >>> design = Design(np.full(2, 0.5), np.zeros(2, int))
    >>> mean_over_examples(design, np.array([[1.0, 0], [0, 1]])).high
    0.5
    """
    # As one seed, whose interval is over test examples.
    of_networks = mean_of(design, e.mean(axis=0, keepdims=True), level)
    seed_values = tuple(design.means(design.scaled(e)).tolist())
    return replace(of_networks, seeds=len(e), seed_values=seed_values)


def at_least_binomial(
    estimate: Estimate, weights: Floats, level: float = LEVEL
) -> Estimate:
    """Widen the interval of an accuracy, or of a difference of two, to that of a share.

    A t interval trusts a few examples that happen to agree: of 30 without a change it
    is [0, 0]. The result also holds Clopper and Pearson's interval of |value| n of n
    examples, with the value's sign, and for a value of 0 the changes that n examples
    would miss in 5 % of cases, about 3 / n in either direction.

    Args:
        estimate: The mean with its interval, of values from -1 to 1 that are not the
            same by construction.
        weights: The weights of the test examples, (n,), with sum 1; n is 1 / sum of
            squares.
        level: The level of the interval, in (0, 1).

    Source: Clopper & Pearson, Biometrika 1934; Hanley & Lippman-Hand, JAMA 1983 (3 /
        n).

    >>> none = Estimate(value=0.0, low=0.0, high=0.0, seeds=1)
    >>> round(at_least_binomial(none, np.full(30, 1 / 30)).high, 3)
    0.095
    """
    from scipy.special import betaincinv

    n = 1 / float(weights @ weights)
    k = min(abs(estimate.value), 1) * n
    unseen = 1 - (1 - level) ** (1 / n)
    low = -unseen
    high = unseen
    tail = (1 - level) / 2
    if k:
        low = float(betaincinv(k, n - k + 1, tail))
        high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    if estimate.value < 0:
        low, high = -high, -low
    return replace(estimate, low=min(estimate.low, low), high=max(estimate.high, high))


def ratio_of(design: Design, num: Floats, den: Floats) -> Estimate:
    """Return the ratio of two means that are paired by seed and example, with Fieller's interval.

    The interval holds every r for which num - r den does not differ significantly from
    0. The ratio is identifiable where the interval of den lies above 0. The interval of
    a single seed is over test examples.

    Args:
        design: The weights and strata of the test examples.
        num: Values of the numerator, (S, n), such as A - b.
        den: Values of the denominator, (S, n), such as C - b.

    Returns:
        The ratio; value and ends are NaN where it is not identifiable. If num is all
        zeros the ratio is 0, and if num equals den it is exactly 1; the interval then
        has no width.

    Source: Fieller, Some Problems in Interval Estimation, JRSS B 1954.
    """
    top = design.scaled(num)
    bottom = design.scaled(den)
    S = len(top)
    above = float(design.means(top).mean())
    below = float(design.means(bottom).mean())
    of_above = design.components(top)
    of_below = design.components(bottom)
    # Variances are quadratic forms: that of a difference gives the covariance.
    product = (of_above + of_below - design.components(top - bottom)) / 2

    def half_width(r: float) -> float:
        return design.half_width(
            of_above - 2 * r * product + r * r * of_below, S, LEVEL
        )

    def outside(r: float) -> float:
        return abs(above - r * below) - half_width(r)

    if not below > design.half_width(of_below, S, LEVEL):
        return Estimate(
            value=math.nan,
            low=math.nan,
            high=math.nan,
            seeds=S,
        )
    is_one = np.array_equal(top, bottom)
    is_zero = not top.any()
    value = float(is_one) if is_one or is_zero else above / below
    low = high = value
    if not (is_one or is_zero):
        step = half_width(value) / below or 1.0
        low = _end(outside, value, -step)
        high = _end(outside, value, step)
    return Estimate(
        value=value,
        low=low,
        high=high,
        seeds=S,
    )


def ratio_over_examples(design: Design, num: Floats, den: Floats) -> Estimate:
    """Return the ratio of two means with its interval over test examples, see `ratio_of`.

    Args:
        design: The weights and strata of the test examples.
        num: Values of the numerator, (S, n), averaged over the seeds first.
        den: Values of the denominator, (S, n).
    """
    means = (e.mean(axis=0, keepdims=True) for e in (num, den))
    return replace(ratio_of(design, *means), seeds=len(num))


def _end(outside: Callable[[float], float], start: float, step: float) -> float:
    """Return where a function rises above 0, searching from the start in steps that double."""
    if outside(start) >= 0:
        return start
    inside = start
    reached = start + step
    while outside(reached) <= 0:
        if abs(reached) > _FAR:
            return math.copysign(math.inf, step)
        inside = reached
        reached = reached + 2 * step
        step = 2 * step
    from scipy.optimize import brentq

    return float(
        brentq(
            outside,
            inside,
            reached,
            xtol=1e-12,
        )
    )
