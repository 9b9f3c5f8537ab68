"""Shapley values against the mean over all orders, written apart, and their laws."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from probe.rewinding.shapley import Coalitions


def game(players, seed, n=3):
    """Return whole numbers for every coalition and each of n examples."""
    draw = np.random.default_rng(seed)
    return {mask: draw.integers(-9, 9, n).astype(float) for mask in range(2**players)}


def over_all_orders(values, players):
    shares = np.zeros((players, len(values[0])))
    orders = list(permutations(range(players)))
    for order in orders:
        mask = 0
        for player in order:
            shares[player] += values[mask | 1 << player] - values[mask]
            mask |= 1 << player
    return shares / len(orders)


@given(
    players=st.integers(0, 5),
    seed=st.integers(0, 2**32),
)
def test_exact_shares_are_the_means_over_all_orders_and_add_up(players, seed):
    values, design = game(players, seed), Coalitions(players=players)
    shares = design.attributed(values)
    assert shares == pytest.approx(over_all_orders(values, players), abs=1e-12)
    assert shares.sum(0) == pytest.approx(values[2**players - 1] - values[0], abs=1e-12)
    assert design.masks == sorted(values)
    assert not design.error(values).any()


@settings(max_examples=20)
@given(
    players=st.integers(2, 9),
    limit=st.sampled_from([2, 64, 512]),
    seed=st.integers(0, 2**32),
)
def test_players_that_are_alike_share_alike_and_one_that_adds_nothing_has_nothing(
    players, limit, seed
):
    values, last = game(players, seed), 1 << (players - 1)
    idle = {mask: values[mask & ~last] for mask in values}
    assert not Coalitions(players=players, limit=limit).attributed(idle)[-1].any()
    alike = {mask: np.full(2, float(mask.bit_count() ** 2)) for mask in values}
    shares = Coalitions(players=players, limit=2**players).attributed(alike)
    assert (shares == shares[0]).all()


@pytest.mark.parametrize(("players", "limit"), [(7, 120), (9, 200), (10, 64)])
def test_sampled_shares_add_up_and_lie_within_their_standard_errors(players, limit):
    distances = []
    for seed in range(30):
        values = game(players, seed, n=1)
        exact = Coalitions(players=players, limit=2**players).attributed(values)
        design = Coalitions(players=players, limit=limit, seed=seed)
        assert not design.exact
        assert len(design.masks) <= max(limit, 70)
        sampled = {mask: values[mask] for mask in design.masks}
        shares = design.attributed(sampled)
        assert shares.sum(0) == pytest.approx(
            values[2**players - 1] - values[0], abs=1e-9
        )
        distances.append((shares - exact)[:, 0] / design.error(sampled))
    # Of few pairs the standard error is itself uncertain: t, not normal.
    assert np.mean(np.abs(distances) < 3) > 0.97
    assert np.std(distances) < 1.6
