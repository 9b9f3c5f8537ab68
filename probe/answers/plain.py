"""Answers as plain values, which JSON can hold."""

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Return a value with lists for tuples, and None for numbers that are missing."""
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    try:
        number = float(value)
    except TypeError:  # pandas' missing number
        return None
    return number if math.isfinite(number) else None
