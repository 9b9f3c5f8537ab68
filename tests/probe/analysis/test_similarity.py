"""Debiased CKA: laws of a similarity (`tests/laws` has whole Gram matrices); too few examples."""

import numpy as np
import pytest
import torch

from probe.analysis.similarity import Compared
from probe.analysis.units import effective_rank
from probe.errors import InputError
from probe.seeding import stream


def gaussian(n, width, *purpose):
    return torch.randn(n, width, generator=stream(0, *purpose), dtype=torch.float64)


def linear_cka(x, y):
    return Compared(x).cka(y)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_a_constant_feature_is_like_nothing(constant):
    flat = torch.full((30, 4), constant)
    x = gaussian(30, 4, "x")
    for pair in ((flat, x), (x, flat), (flat, flat)):
        assert np.isnan(linear_cka(*pair))


@pytest.mark.parametrize(("n", "width"), [(60, 9), (30, 100)])
def test_a_feature_is_like_itself_rotated_scaled_and_shifted(n, width):
    x = gaussian(n, width, "x")
    other = gaussian(n, 5, "y")
    other[:, 0] += x[:, 0]
    turned = torch.linalg.qr(gaussian(width, width, "turn")).Q
    assert linear_cka(x, x) == pytest.approx(1, abs=1e-12)
    assert linear_cka(x, -3 * (x @ turned) + 100) == pytest.approx(1, abs=1e-9)
    before = linear_cka(x, other)
    assert linear_cka(0.01 * (x @ turned) - 7, other) == pytest.approx(before, abs=1e-9)
    assert linear_cka(other, x) == pytest.approx(before, abs=1e-12)
    stretched = x * torch.linspace(0.1, 3, width, dtype=torch.float64)
    assert abs(linear_cka(stretched, other) - before) > 1e-3


FEW = [(effective_rank, (1, 5)), (effective_rank, (5, 0)), (Compared, (3, 2))]


@pytest.mark.parametrize(("measure", "shape"), FEW)
def test_too_little_to_compare_is_refused(measure, shape):
    with pytest.raises(InputError, match="examples or more"):
        measure(torch.zeros(shape))
