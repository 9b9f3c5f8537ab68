"""Outcomes bit by bit: round trips, NumPy's packing, and what is refused."""

import base64
import json

import pytest
from hypothesis import given, strategies as st

from probe.metrics.outcomes import Outcomes

flags = st.lists(st.booleans(), max_size=70)


@given(flags)
def test_what_was_right_comes_back(right):
    outcomes = Outcomes.of(right)
    assert outcomes.right.tolist() == right
    assert outcomes.right.dtype == bool
    assert (outcomes.size, len(outcomes.bits)) == (len(right), (len(right) + 7) // 8)
    assert outcomes.right.sum() == int.from_bytes(outcomes.bits, "big").bit_count()


@given(flags)
def test_a_record_reads_back_through_json(right):
    outcomes = Outcomes.of(right)
    assert Outcomes.of_record(json.loads(json.dumps(outcomes.to_record()))) == outcomes


def test_the_first_example_is_the_highest_bit():
    assert Outcomes.of([1, 0, 0, 0, 0, 0, 0, 1, 1]).bits == b"\x81\x80"


@pytest.mark.parametrize(
    ("size", "bits"),
    [
        (8, b""),
        (8, b"\0\0"),
        (9, b"\xff"),
        (0, b"\0"),
        (-1, b""),
        (8.0, b"\0"),
        (True, b"\x80"),
        (3, b"\xf0"),
        (9, b"\0\x40"),
    ],
)
def test_bits_of_other_examples_are_refused(size, bits):
    with pytest.raises(ValueError, match=r"are not the bits|must be 0"):
        Outcomes(size, bits)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"size": 4}, ValueError),
        ({"size": 17}, ValueError),
        ({"size": "16"}, (TypeError, ValueError)),
        ({"size": None}, (TypeError, ValueError)),
        ({"bits": "AA"}, ValueError),
        ({"bits": "*AAA"}, ValueError),
        ({"bits": 3}, TypeError),
        ({"bits": base64.b64encode(b"\0\0\0").decode()}, ValueError),
    ],
)
def test_records_that_are_none_are_refused(change, error):
    record = Outcomes.of([1] * 10).to_record()
    with pytest.raises(error):
        Outcomes.of_record({**record, **change})
    with pytest.raises(KeyError):
        Outcomes.of_record({name: cell for name, cell in record.items() if name not in change})
