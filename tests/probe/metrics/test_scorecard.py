"""The scorecard: every number equals its metric, every gap has a reason."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.scorecard import METRICS, scorecard

rng = np.random.default_rng(0)
R = AccuracyMatrix(rng.random((4, 3)))


def test_a_square_matrix_alone_lacks_what_needs_more():
    card = scorecard(AccuracyMatrix.square(R.values[1:]))
    reasons = card.not_measured
    assert reasons.keys() >= {
        "gem.fwt",
        "chaudhry.forgetting[1]",
        *(f"chaudhry.intransigence[{k}]" for k in (1, 2, 3)),
        "kemker.omega_base",
        "kemker.omega_all",
    }
    assert not reasons.keys() & {
        "gem.acc",
        "gem.bwt",
        "chaudhry.forgetting[2]",
    }
    assert "R[0,2]" in reasons["gem.fwt"]
    assert "--ideal" in reasons["kemker.omega_base"]
    assert "--reference" in reasons["chaudhry.intransigence[2]"]


def test_without_forward_transfer_what_depends_on_it_is_left_out_and_nothing_else():
    """It depends on it where low accuracies before a task is learned change it."""
    is_before = np.arange(3) >= np.arange(4)[:, None]
    zeros, low = (
        AccuracyMatrix(np.where(is_before, share * R.values, 0.5 + R.values / 2))
        for share in (0, 0.1)
    )
    rows = [scorecard(matrix).rows() for matrix in (zeros, low)]
    rows.append(scorecard(zeros, forward=False).rows())
    for one, other, without in zip(*rows, strict=True):
        assert (without[2] is None) == (one[2] is None or one[2] != other[2]), one


cells = st.one_of(st.just(np.nan), st.floats(0, 1))


@given(
    st.integers(1, 4).flatmap(lambda T: arrays(np.float64, (T + 1, T), elements=cells))
)
def test_a_number_is_null_exactly_where_a_reason_is_given(table):
    card = scorecard(AccuracyMatrix(table), ideal=0.5)
    read = json.loads(card.to_json(), parse_constant=pytest.fail)
    assert list(read) == [
        *dict.fromkeys(metric.paper for metric in METRICS),
        "not_measured",
    ]
    assert read == {**card.values, "not_measured": card.not_measured}
    gaps = [f"{paper}.{name}" for paper, name, value in card.rows() if value is None]
    assert sorted(gaps) == sorted(card.not_measured)
    assert all(card.not_measured.values())
