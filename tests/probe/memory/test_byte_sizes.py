"""Sizes in bytes, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import InputError
from probe.memory.byte_sizes import parse_size, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("12 B", 12),
        ("500MB", 500 * 10**6),
        ("500 mb", 500 * 10**6),
        ("2GiB", 2 * 2**30),
        ("1.5KiB", 1536),
        ("0.1TB", 10**11),
        ("1.0000000005GB", 10**9),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text, "a size") == size


@pytest.mark.parametrize(
    "text", ["", "GB", "1G", "-1GB", "1e9", "1,5GB", "inf", "nan", "1GBit", "٣", "9" * 400 + "GB"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--cache-budget expects a size such as 500MB, 2GiB"):
        parse_size(text, "--cache-budget")


@given(st.integers(0, 10**16))
def test_what_is_shown_reads_back_to_the_last_digit_shown(size: int) -> None:
    shown = show_size(size)
    number, unit = shown.split()
    digit = 1 if unit == "B" else parse_size(f"0.1{unit}", "the digit")
    assert abs(parse_size(shown, "a size") - size) <= digit / 2
    assert float(number) < 1000 or unit == "GB"
