"""GEM's projection: its laws, and the same answer as independent solvers of the problem."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from torch import Tensor

from probe.errors import InputError
from scenarios.learners.replay.gem import dual, project

Floats = NDArray[np.float64]


def vectors(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def degenerate() -> dict[str, tuple[Tensor, Tensor]]:
    """Problems whose Gram matrix is singular, or nearly so; every one has a violated constraint."""
    g, a, b = vectors(1, 3, 8)
    g = g - 3 * (a + b)
    return {
        "duplicates": (g, torch.stack([a, b, a, a])),
        "collinear": (g, torch.stack([a, 2 * a, 1e-3 * a])),
        "nearly collinear": (g, torch.stack([a, a + 1e-9 * b])),
        "opposite": (g, torch.stack([a, -a])),
        "opposite and one more": (g, torch.stack([a, b, -a])),
        "a zero": (g, torch.stack([torch.zeros(8, dtype=torch.float64), a])),
        "zeros beside": (g, torch.stack([a, *torch.zeros(3, 8, dtype=torch.float64)])),
        "more memories than parameters": (vectors(2, 3), vectors(3, 7, 3)),
        "no way out": (vectors(4, 2), torch.cat([torch.eye(2), -torch.eye(2)]).double()),
        "straight against": (-a, a[None]),
        "very different lengths": (g, torch.stack([1e-7 * a, 1e6 * b])),
    }


def lengths(past: Tensor) -> Tensor:
    return past.norm(dim=1)


def by_active_sets(g: Floats, past: Floats) -> Floats:
    """Return the nearest feasible point among the projections on every set of active constraints.

    The answer is the projection of g on the face of the cone that it lies on.
    """
    scale = np.linalg.norm(past, axis=1) * np.linalg.norm(g)
    best: Floats = np.zeros_like(g)
    for size in range(len(past) + 1):
        for active in combinations(range(len(past)), size):
            rows = past[list(active)]
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
            point = g - np.linalg.pinv(rows, rcond=1e-12) @ (rows @ g) if active else g
            feasible = (past @ point >= -1e-9 * scale).all()
            if feasible and np.linalg.norm(point - g) < np.linalg.norm(best - g):
                best = point
    return best


def by_slsqp(g: Floats, past: Floats) -> Floats:
    found = minimize(
        lambda z: 0.5 * np.sum((z - g) ** 2),
        np.zeros_like(g),
        jac=lambda z: z - g,
        method="SLSQP",
        constraints=[LinearConstraint(past, lb=0)],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return np.asarray(found.x)


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_it_violates_no_constraint(margin: float, precision: torch.dtype) -> None:
    problems = [(vectors(s, 40), vectors(1000 + s, 1 + s % 6, 40)) for s in range(60)]
    violated = 0
    for g, past in [*problems, *degenerate().values()]:
        own, old = g.to(precision), past.to(precision)
        found = project(own, old, margin)
        scale = lengths(old) * max(float(own.norm()), float(found.norm()))
        assert (old @ found >= -1e-6 * scale).all()
        violated += bool((old @ own < -1e-6 * scale).any())
    assert violated > 30  # the gradient itself would not do


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_a_gradient_that_violates_none_is_kept_bit_for_bit(margin: float) -> None:
    for seed in range(20):
        past = vectors(seed, 3, 30).float()
        gradient = past.T @ torch.linalg.solve(past @ past.T, torch.tensor([0.1, 2.0, 3.0]))
        assert project(gradient, past, margin) is gradient
        assert not torch.allclose(project(-gradient, past, margin), -gradient)


@pytest.mark.parametrize("t", [1, 2, 3, 5])
def test_it_is_the_nearest_such_gradient(t: int) -> None:
    for seed in range(15):
        g, past = vectors(seed, 12), vectors(500 + seed, t, 12)
        found = project(g, past).numpy()
        np.testing.assert_allclose(found, by_active_sets(g.numpy(), past.numpy()), atol=1e-9)
        np.testing.assert_allclose(found, by_slsqp(g.numpy(), past.numpy()), atol=1e-5)


@pytest.mark.parametrize("name", degenerate())
def test_it_is_the_nearest_for_degenerate_memories_too(name: str) -> None:
    g, past = degenerate()[name]
    found = project(g, past).numpy()
    expected = by_active_sets(g.numpy(), past.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-6 * float(g.norm()))


def test_the_dual_variables_are_those_of_the_bounded_problem() -> None:
    """Karush-Kuhn-Tucker: v >= margin, slope >= 0, and one of the two is tight for every memory."""
    for seed in range(40):
        past, g = vectors(seed, 4, 9).numpy(), vectors(99 + seed, 9).numpy()
        for margin in (0.0, 0.5, 3.0):
            v = dual(past @ past.T, past @ g, margin)
            slope = past @ past.T @ v + past @ g
            assert (v >= margin).all()
            assert (slope >= -1e-9).all()
            np.testing.assert_allclose((v - margin) * slope, 0, atol=1e-8)


def test_a_margin_added_to_the_solution_may_violate_where_a_bound_does_not() -> None:
    """Why gamma is a bound here: two memories at odds, of which the first one is long."""
    past = torch.tensor([[3.0, 1.0], [-1.0, 0.5]], dtype=torch.float64)
    g = torch.tensor([0.3, -1.0], dtype=torch.float64)
    v = dual((past @ past.T).numpy(), (past @ g).numpy(), 0.0)
    added = g + past.T @ torch.from_numpy(v + 0.5)
    assert (past @ added).min() < -0.1
    assert (past @ project(g, past, 0.5)).min() > -1e-9


def test_a_gradient_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InputError, match="diverged"):
        project(torch.tensor([1.0, torch.nan]), torch.ones(1, 2))
    with pytest.raises(InputError, match="diverged"):
        project(torch.ones(2), torch.tensor([[torch.inf, 0.0]]))
