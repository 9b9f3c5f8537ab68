"""Debiased CKA: laws of a similarity (`tests/laws` has whole Gram matrices); too few examples."""

import numpy as np
import pytest
import torch

from probe.analysis.similarity import Compared
from probe.analysis.units import Activity, effective_rank
from probe.errors import InputError
from probe.seeding import stream


def gaussian(n, width, *purpose):
    return torch.randn(
        n,
        width,
        generator=stream(0, *purpose),
        dtype=torch.float64,
    )


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_a_constant_feature_is_like_nothing(constant):
    flat = torch.full((30, 4), constant)
    x = gaussian(30, 4, "x")
    for one, other in ((flat, x), (x, flat), (flat, flat)):
        assert np.isnan(Compared(one).cka(other))


@pytest.mark.parametrize(("n", "width"), [(60, 9), (30, 100)])
def test_a_feature_is_like_itself_rotated_scaled_and_shifted(n, width):
    x = gaussian(n, width, "x")
    other = gaussian(n, 5, "y")
    other[:, 0] += x[:, 0]
    turned = x @ torch.linalg.qr(gaussian(width, width, "turn")).Q
    one = Compared(x)
    assert one.cka(x) == pytest.approx(1, abs=1e-12)
    assert one.cka(-3 * turned + 100) == pytest.approx(1, abs=1e-9)
    before = one.cka(other)
    two = Compared(0.01 * turned - 7)
    assert two.cka(other) == pytest.approx(before, abs=1e-9)
    assert Compared(other).cka(x) == pytest.approx(before, abs=1e-12)
    stretched = x * torch.linspace(0.1, 3, width, dtype=torch.float64)
    assert abs(Compared(stretched).cka(other) - before) > 1e-3


FEW = [
    (effective_rank, (1, 5)),
    (effective_rank, (5, 0)),
]


@pytest.mark.parametrize(("measure", "shape"), FEW)
def test_too_little_to_compare_is_refused(measure, shape):
    with pytest.raises(InputError, match="examples or more"):
        measure(torch.zeros(shape))


def test_a_unit_that_differs_between_batches_only_is_not_dead():
    activity = Activity()
    for value in (0.0, 1.0):
        activity.add([torch.full((2, 1, 1), value)])
    assert activity.shares()["dead"] == 0
