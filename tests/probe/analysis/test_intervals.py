"""Laws of the intervals: closed forms for each source of error alone, brute force for both."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from probe.analysis.intervals import (
    Estimate,
    at_least_binomial,
    mean_of,
    mean_over_examples,
    ratio_of,
    ratio_over_examples,
)
from probe.analysis.variance import Design
from probe.errors import InputError


def uniform(n):
    strata = np.zeros(n, dtype=int)
    return Design(np.full(n, 1 / n), strata)


def chance(seed):
    return np.random.default_rng(seed)


def by_brute_force(e, strata, w):
    """V_seeds, V_items and V_both by loops over strata, seeds and examples."""
    S = len(e)
    items = both = 0.0
    means = np.zeros(S)
    for stratum in np.unique(strata):
        cells = e[:, strata == stratum]
        n = cells.shape[1]
        weight = w[strata == stratum].sum()
        means += weight * cells.mean(axis=1)
        items += weight**2 * np.var(cells.mean(axis=0), ddof=1) / n
        squares = 0.0
        for s, i in np.ndindex(S, n):
            of_seed = cells[s].mean()
            of_item = cells[:, i].mean()
            expected = of_seed + of_item - cells.mean()
            squares += (cells[s, i] - expected) ** 2
        variance = squares / ((S - 1) * (n - 1))
        both += weight**2 * variance / (n * S)
    return np.var(means, ddof=1) / S, items, both


def test_components_are_those_of_a_two_way_analysis_of_variance():
    strata = np.repeat([5, 2, 9], [7, 4, 12])
    strata = chance(0).permuted(strata)
    share_of = {5: 0.2, 2: 0.5, 9: 0.3}
    shares = np.array([share_of[stratum] for stratum in strata])
    w = shares / np.bincount(strata)[strata]
    e = chance(1).normal(size=(4, 23))
    e += chance(2).normal(size=23)
    e += 0.3 * np.arange(4)[:, None]
    design = Design(w, strata)
    parts = design.scaled(e)
    expected = by_brute_force(e, strata, w)
    assert design.components(parts) == pytest.approx(expected, rel=1e-9)
    assert design.means(parts) == pytest.approx(e @ w, rel=1e-12)


def test_with_seeds_alone_it_is_the_t_interval():
    seeds = np.array([0.5, 0.7, 0.4, 0.9])
    e = np.repeat(seeds[:, None], 20, axis=1)
    got = mean_of(uniform(20), e, level=0.9)
    low, high = stats.t.interval(0.9, 3, seeds.mean(), stats.sem(seeds))
    assert got.value == pytest.approx(seeds.mean(), rel=1e-9)
    assert got.low == pytest.approx(low, rel=1e-9)
    assert got.high == pytest.approx(high, rel=1e-9)
    assert got.seeds == 4


def test_of_these_networks_it_is_the_t_interval_over_examples():
    A, b, C = paired()
    design = uniform(400)
    of_networks = mean_over_examples(design, A)
    by_example = A.mean(axis=0)
    expected = stats.t.interval(
        0.95,
        399,
        by_example.mean(),
        stats.sem(by_example),
    )
    ends = (of_networks.low, of_networks.high)
    assert ends == pytest.approx(expected, rel=1e-9)
    assert of_networks.seed_values == pytest.approx(A.mean(axis=1))
    ratio = ratio_over_examples(design, A - b, C - b)
    difference = A - b - ratio.high * (C - b)
    at_end = mean_over_examples(design, difference)
    assert at_end.high == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("count", "n"),
    [
        (1, 30),
        (15, 30),
        (30, 30),
        (40, 1000),
    ],
)
def test_bounds_of_a_share_are_exact_and_have_its_sign(count, n):
    exact = stats.binomtest(count, n).proportion_ci(0.95, "exact")
    w = np.full(n, 1 / n)
    for sign in (1, -1):
        share = sign * count / n
        narrow = Estimate(
            value=share,
            low=share,
            high=share,
            seeds=1,
        )
        ends = at_least_binomial(narrow, w)
        widened = sorted((sign * ends.low, sign * ends.high))
        assert widened == pytest.approx([exact.low, exact.high], rel=1e-9)
        wide = replace(narrow, low=-2, high=2)
        assert at_least_binomial(wide, w).high == 2


def test_what_no_example_shows_may_be_missed_in_5_percent_of_cases():
    none = Estimate(
        value=0,
        low=0,
        high=0,
        seeds=1,
    )
    bounds = at_least_binomial(none, np.full(300, 1 / 300))
    assert bounds.low == -bounds.high
    assert stats.binom.pmf(0, 300, bounds.high) == pytest.approx(0.05)


def paired():
    """Return what is right of A, b and C, for 5 seeds and 400 examples."""
    rng = chance(0)
    hard = rng.random(400)
    seeds = 0.05 * rng.normal(size=(5, 1))
    right = []
    for level in (0.6, 0.3, 0.9):
        known = level + seeds + 0.1 * rng.normal(size=(5, 400))
        right.append((hard < known) * 1.0)
    return right


def test_fiellers_interval_is_where_the_difference_is_not_clearly_other_than_zero():
    A, b, C = paired()
    design = uniform(400)
    got = ratio_of(design, A - b, C - b)
    assert 0.3 < got.low < got.value < got.high < 0.7

    def off(r):
        interval = mean_of(design, A - b - r * (C - b))
        return interval.low > 0 or interval.high < 0

    e = 1e-6
    inner = np.linspace(got.low + e, got.high - e, 30)
    assert not any(map(off, inner))
    assert off(got.low - e)
    assert off(got.high + e)


def test_what_meets_the_ceiling_or_the_floor_is_exactly_one_or_zero():
    A, b, C = paired()
    design = uniform(400)
    one = ratio_of(design, C - b, C - b)
    zero = ratio_of(design, b - b, C - b)
    assert one.low == one.value == one.high == 1
    assert zero.low == zero.value == zero.high == 0
    other = ratio_of(design, A - b, C - b)
    assert other.low < other.value < other.high


def test_one_example_alone_is_refused():
    with pytest.raises(InputError, match="got 1 test examples"):
        Design(np.eye(10)[0], np.zeros(10, int))


MANY = 10**6  # degrees of freedom of the part that is known
DESIGN = uniform(MANY + 1)
RATIOS = [0.05, 0.2, 0.5, 1, 2, 4, 10, 30, 100]  # of the seeds' part to the examples'


def coverage(ratio, seeds):
    """Over the chi-squared law of the seeds' part, the chance that the truth is covered."""
    chances = (np.arange(400) + 0.5) / 400
    parts = ratio * stats.chi2.ppf(chances, seeds - 1) / (seeds - 1)
    widths = []
    for part in parts:
        components = np.array([part, 1, 0])
        widths.append(DESIGN.half_width(components, seeds, 0.95))
    covered = stats.norm.cdf(widths / np.sqrt(ratio + 1))
    return (2 * covered - 1).mean()


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_of_95_percent_cover_94_to_97_percent_at_any_share(ratio, seeds):
    assert 0.945 < coverage(ratio, seeds) < 0.97
