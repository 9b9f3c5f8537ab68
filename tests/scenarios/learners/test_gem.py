"""GEM: no step raises what is stored; its projection by laws and by brute force."""

from itertools import combinations, product

import numpy as np
import pytest
import torch

from scenarios.learners.gem import project


def vectors(seed, *shape):
    return torch.randn(
        *shape,
        generator=torch.Generator().manual_seed(seed),
        dtype=torch.float64,
    )


def problems():
    """Problems drawn at random, and some whose Gram matrix is singular, or nearly so."""
    g, a, b = vectors(1, 3, 8)
    g, zeros = g - 3 * (a + b), torch.zeros(3, 8, dtype=torch.float64)
    at_random = {}
    for t, s in product((1, 3, 5), range(3)):
        at_random[f"{t} at random, {s}"] = (vectors(s, 12), vectors(500 + s, t, 12))
    return {
        **at_random,
        "duplicates": (g, torch.stack([a, b, a, a])),
        "collinear": (g, torch.stack([a, 2 * a, 1e-3 * a])),
        "nearly collinear": (g, torch.stack([a, a + 1e-9 * b])),
        "opposite and one more": (g, torch.stack([a, b, -a])),
        "zeros beside": (g, torch.stack([a, *zeros])),
        "more memories than parameters": (vectors(2, 3), vectors(3, 7, 3)),
        "no way out": (
            vectors(4, 2),
            torch.cat([torch.eye(2), -torch.eye(2)]).double(),
        ),
        "very different lengths": (g, torch.stack([1e-7 * a, 1e6 * b])),
    }


def by_active_sets(g, past):
    """Return the nearest feasible point among the projections on every set of active constraints.

    The answer is the projection of g on the face of the cone that it lies on.
    """
    scale = np.linalg.norm(past, axis=1) * np.linalg.norm(g)
    best = np.zeros_like(g)
    for size in range(len(past) + 1):
        for active in combinations(range(len(past)), size):
            rows = past[list(active)]
            rows = rows / np.maximum(
                np.linalg.norm(rows, axis=1, keepdims=True),
                1e-300,
            )
            point = g - np.linalg.pinv(rows, rcond=1e-12) @ (rows @ g) if active else g
            feasible = (past @ point >= -1e-9 * scale).all()
            if feasible and np.linalg.norm(point - g) < np.linalg.norm(best - g):
                best = point
    return best


@pytest.mark.parametrize("name", problems())
def test_it_is_the_nearest_gradient_that_opposes_none(name):
    """And with a margin it opposes none either, in both precisions."""
    g, past = problems()[name]
    found = project(g, past).numpy()
    scale = float(g.norm())
    np.testing.assert_allclose(
        found, by_active_sets(g.numpy(), past.numpy()), atol=1e-6 * scale
    )
    for own, old in ((g, past), (g.float(), past.float())):
        leaning = project(own, old, 0.5)
        most = old.norm(dim=1) * max(scale, float(leaning.norm()))
        assert (old @ leaning >= -1e-6 * most).all()


def test_where_none_is_opposed_it_is_the_gradient_itself():
    g = vectors(1, 12)
    assert project(g, torch.stack([g, 2 * g]), 0.5) is g
