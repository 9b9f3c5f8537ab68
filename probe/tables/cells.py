"""The cells of tidy tables: what a column can hold, and how it is written in CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

from probe.errors import InputError

MOST = 100_000
"""The largest step, place, depth or seed, and the most seeds: more is damage."""

LARGEST = 1e15
"""The largest number that is not whole, either way: beyond it figures have no axis."""

MEASURES = ("accuracy", "pra", "f1")
"""What a row can be a measurement of."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column. expected: what it can hold, in words.

    read: from the text in the file, raises ValueError for what it cannot hold; write: a value to
    what csv writes, raises InputError for the same.
    """

    name: str
    expected: str
    read: Callable[[str], Any]
    write: Callable[[Any], Any]


class Known(dict[str, Any]):
    """What the texts of a column stand for, by text: read but once, as most come again and again.

    Raises InputError for a text that the column cannot hold.

    >>> Known(column("place", "int | None"))["3"]
    3
    """

    def __init__(self, of: Column) -> None:
        self._of = of

    def __missing__(self, text: str) -> Any:
        try:
            value = self._of.read(text)
        except ValueError:
            raise InputError(
                f"{text[:_SHOWN]!r} cannot be the value of {self._of.name}, expected "
                f"{self._of.expected}"
            ) from None
        if len(self) < _MOST_KNOWN:
            self[text] = value
        return value


def column(name: str, kind: str) -> Column:
    """Return the column of that name; kind: `str`, `int`, `int | None` or `float`.

    Whole numbers are from 0 or 1 to MOST, and such as have another name from 0 to 2^63 - 1; other
    numbers from -LARGEST, or from 0, to LARGEST, or NaN, which is an empty cell.

    >>> column("place", "int | None").read("3"), column("place", "int | None").expected
    (3, 'a whole number from 1 to 100000 or an empty cell')
    """
    if kind == "str":
        return _texts(name)
    return _numbers(name) if kind == "float" else _whole_numbers(name, "None" in kind)


def _texts(name: str) -> Column:
    known = MEASURES if name == "measure" else None

    def read(cell: str) -> str:
        if known is not None and cell not in known:
            raise ValueError(cell)
        return cell

    def write(value: object) -> str:
        if isinstance(value, str) and len(value) <= _LONGEST and (not known or value in known):
            return value
        raise InputError(f"a table's column of texts cannot hold {str(value)[:40]!r} as {name}")

    return Column(
        name=name,
        expected=f"one of {', '.join(known)}" if known else "text",
        read=read,
        write=write,
    )


def _whole_numbers(name: str, optional: bool) -> Column:
    allowed = _ALLOWED.get(name, _WHOLE)

    def read(cell: str) -> int | None:
        if optional and not cell:
            return None
        number = int(cell)
        if number not in allowed:
            raise ValueError(cell)
        return number

    def write(value: Any) -> int | None:
        if optional and value is None:
            return None
        try:
            number = int(index(value))
        except TypeError:
            raise InputError(f"a table's column of whole numbers cannot hold {value!r}") from None
        if number not in allowed:
            raise InputError(f"{name} cannot be {number} in a table: expected {expected}")
        return number

    expected = f"a whole number from {allowed[0]} to {allowed[-1]}"
    expected += " or an empty cell" if optional else ""
    return Column(name=name, expected=expected, read=read, write=write)


def _numbers(name: str) -> Column:
    least = 0.0 if name in _NOT_NEGATIVE else -LARGEST

    def read(cell: str) -> float:
        number = float(cell) if cell else math.nan
        if number < least or number > LARGEST:
            raise ValueError(cell)
        return number

    def write(value: Any) -> float | None:
        try:
            number = float(value) if not math.isnan(value) else None
        except (TypeError, OverflowError):
            raise InputError(f"a table's column of numbers cannot hold {value!r}") from None
        if number is not None and not least <= number <= LARGEST:
            raise InputError(f"{name} cannot be {number} in a table: expected {expected}")
        return number

    expected = f"a number from {least:g} to {LARGEST:g}"
    return Column(name=name, expected=expected, read=read, write=write)


_MOST_KNOWN = 100_000  # texts; where more differ, remembering them costs more than it saves
_SHOWN = 60  # characters of a text that cannot be
_LONGEST = csv.field_size_limit()  # characters in a cell that csv reads
_WHOLE = range(2**63)
_ALLOWED = {
    **dict.fromkeys(("seed", "step"), range(MOST + 1)),
    **dict.fromkeys(("place", "depth", "seeds"), range(1, MOST + 1)),
}
_NOT_NEGATIVE = ("std", "seconds")
