"""Debiased CKA: against the four-point sum that defines it, and the laws of a similarity."""

import numpy as np
import pytest
import torch

from probe.analysis.similarity import Compared
from probe.errors import InputError
from probe.seeding import stream


def gaussian(n, width, *purpose):
    return torch.randn(n, width, generator=stream(0, *purpose), dtype=torch.float64)


def centred_alike(x):
    """The U-centred Gram matrix of Szekely & Rizzo 2014, whose products are Song's eq. 5."""
    K = x @ x.T
    n = len(K)
    np.fill_diagonal(K, 0)
    rows = K.sum(axis=0) / (n - 2)
    K = K - rows - rows[:, None] + K.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(K, 0)
    return K


def by_grams(x, y):
    K, L = centred_alike(x.numpy()), centred_alike(y.numpy())
    return (K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum())


def linear_cka(x, y):
    return Compared(x).cka(y)


@pytest.mark.parametrize(("n", "one", "other"), [(20, 3, 7), (20, 50, 3), (20, 50, 90), (4, 2, 2)])
def test_it_is_the_products_of_u_centred_grams(n, one, other):
    x, y = gaussian(n, one, "x"), gaussian(n, other, "y")
    y[:, :2] += x[:, :2] + 5
    assert linear_cka(x, y) == pytest.approx(by_grams(x, y), abs=1e-10)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_a_constant_feature_is_like_nothing(constant):
    flat, x = torch.full((30, 4), constant), gaussian(30, 4, "x")
    for pair in ((flat, x), (x, flat), (flat, flat)):
        assert np.isnan(linear_cka(*pair))


@pytest.mark.parametrize(("n", "width"), [(60, 9), (30, 100)])
def test_a_feature_is_like_itself_rotated_scaled_and_shifted(n, width):
    x, other = gaussian(n, width, "x"), gaussian(n, 5, "y")
    other[:, 0] += x[:, 0]
    turned = torch.linalg.qr(gaussian(width, width, "turn")).Q
    assert linear_cka(x, x) == pytest.approx(1, abs=1e-12)
    assert linear_cka(x, -3 * (x @ turned) + 100) == pytest.approx(1, abs=1e-9)
    before = linear_cka(x, other)
    assert linear_cka(0.01 * (x @ turned) - 7, other) == pytest.approx(before, abs=1e-9)
    assert linear_cka(other, x) == pytest.approx(before, abs=1e-12)
    stretched = x * torch.linspace(0.1, 3, width, dtype=torch.float64)
    assert abs(linear_cka(stretched, other) - before) > 1e-3


def test_fewer_than_four_examples_are_refused():
    with pytest.raises(InputError, match="4 examples or more"):
        linear_cka(gaussian(3, 2, "x"), gaussian(3, 2, "y"))
