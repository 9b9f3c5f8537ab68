"""Outcomes bit by bit: round trips, NumPy's packing, and what is refused."""

import json

import pytest
from hypothesis import given, strategies as st

from probe.metrics.outcomes import Outcomes


@given(st.lists(st.booleans(), max_size=70))
def test_what_was_right_comes_back_also_through_json(right):
    outcomes = Outcomes.of(right)
    assert outcomes.right.tolist() == right
    assert outcomes.right.dtype == bool
    assert (outcomes.size, len(outcomes.bits)) == (len(right), (len(right) + 7) // 8)
    assert Outcomes.of_record(json.loads(json.dumps(outcomes.to_record()))) == outcomes


def test_the_first_example_is_the_highest_bit():
    assert Outcomes.of([1, 0, 0, 0, 0, 0, 0, 1, 1]).bits == b"\x81\x80"


@pytest.mark.parametrize(
    ("size", "bits"), [(8, b""), (9, b"\xff"), (-1, b""), (8.0, b"\0"), (3, b"\xf0")]
)
def test_bits_of_other_examples_are_refused(size, bits):
    with pytest.raises(ValueError, match=r"are not the bits|must be 0"):
        Outcomes(size, bits)


@pytest.mark.parametrize("change", [{"size": 17}, {"size": None}, {"bits": "*AAA"}, {"bits": 3}])
def test_records_that_are_none_are_refused(change):
    with pytest.raises((TypeError, ValueError)):
        Outcomes.of_record({**Outcomes.of([1] * 10).to_record(), **change})
