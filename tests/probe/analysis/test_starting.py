"""The starting feature: found where it is, never before; nothing claimed of nothing."""

import numpy as np
import pytest

from probe.analysis.crossed import Design
from probe.analysis.intervals import mean_of
from probe.analysis.starting import holm, starting_feature

N = 500
WHERE = (np.full(N, 1 / N), np.arange(N) % 10)


def layers(drops, seeds, seed=0):
    """Differences of right answers, 90 % for the ceiling, that much less behind each layer."""
    rng = np.random.default_rng(seed)
    hard = rng.random(N)

    def right(level):
        own = level + 0.01 * rng.normal(size=(seeds, 1))
        return (hard < own + 0.05 * rng.normal(size=(seeds, N))).astype(float)

    ceiling = right(0.9)
    return [ceiling - right(0.9 - drop) for drop in drops]


def test_a_layer_that_lost_much_is_the_start_and_none_before():
    for seed in range(20):
        start = starting_feature(layers([0, 0, 0.2, 0.2], 5, seed), *WHERE, margin=0.01)
        assert start.index == 2
        assert start.earliest is not None
        assert start.earliest <= 2
        assert len(start.estimates) == 4


def test_a_difference_within_the_margin_is_no_start():
    drops = layers([0.04, 0.04], 10)
    assert starting_feature(drops, *WHERE, margin=0.01).index == 0
    assert starting_feature(drops, *WHERE, margin=0.1).index is None


def test_intervals_of_all_layers_hold_together():
    """Bonferroni's: those of two layers at 95 % are those of one at 97.5 %."""
    drops = layers([0.1, 0.2], 5)
    one = mean_of(Design(*WHERE), drops[1], 0.975)
    assert starting_feature(drops, *WHERE, margin=0.01).estimates[1].low == pytest.approx(one.low)


def test_one_seed_claims_nothing():
    start = starting_feature(layers([0, 0.5], 1), *WHERE, margin=0.01)
    assert (start.index, start.earliest) == (None, None)
    assert start.estimates[1].value > 0.4
    assert np.isnan(start.estimates[1].low)


def test_holm_rejects_what_the_adjusted_p_values_say():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random(6) ** 4
        order = np.argsort(p)
        adjusted = np.maximum.accumulate(p[order] * np.arange(6, 0, -1))
        assert holm(p, 0.05)[order].tolist() == (adjusted <= 0.05).tolist()
