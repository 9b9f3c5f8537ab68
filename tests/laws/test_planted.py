"""Faults planted in an MLP and a CNN, one training each: docs/right.md has all four networks'."""

import pytest

from tests.laws.planted import cases

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "architecture", ["cnn", pytest.param("mlp", marks=pytest.mark.soak)]
)
def test_the_planted_layer_has_the_largest_share(architecture):
    as_trained, *faulty = cases(architecture, seed=0)
    assert as_trained["costs"] == as_trained["helps"] == 0
    assert len(faulty) >= 6
    for case in faulty:
        assert case["is_first"], case
        assert case["verdict"] in ("costs", "harms", "repairs"), case
        assert not case["withheld"], case
