"""Sizes in bytes as text."""

import re
from decimal import Decimal

from probe.errors import InputError

_UNITS = {"": 1} | {f"{letter}b": 1000**k for k, letter in enumerate(["", *"kmgt"])}
_UNITS |= {f"{letter}ib": 1024**k for k, letter in enumerate("kmgt", 1)}
_DIGITS = 18


def parse_size(text: str, name: str) -> int:
    """Parse a size such as 500MB (10^6), 1.5GiB (2^30) or 4096.

    Args:
        text: The size.
        name: The name of the size in the error message.

    Returns:
        The number of bytes.

    Raises:
        InputError: The text is not such a size.

    >>> parse_size("500MB", "--cache-budget"), parse_size("2GiB", "--cache-budget")
    (500000000, 2147483648)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", text.strip().lower())
    # More than 18 digits are no size of any memory, and too many for a number with a fraction.
    if not match or match[2] not in _UNITS or len(match[1]) > _DIGITS:
        raise InputError(f"{name} expects a size such as 500MB, 2GiB or plain bytes, got {text!r}")
    return int(Decimal(match[1]) * _UNITS[match[2]])


def show_size(size: int) -> str:
    """Return a number of bytes with a unit of powers of ten, to one decimal.

    >>> show_size(3_300_000_000), show_size(12)
    ('3.3 GB', '12 B')
    """
    if size < 1000:
        return f"{size} B"
    # What rounds to 1000.0 is 1.0 of the next unit.
    power = next(k for k in (1, 2, 3) if k == 3 or round(size / 1000**k, 1) < 1000)
    return f"{size / 1000**power:.1f} {'KMG'[power - 1]}B"
