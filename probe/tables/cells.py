"""Types of the cells of a table, which pydantic checks."""

import csv
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WrapValidator

MOST = 100_000
"""The largest step, place, depth or seed, and the most seeds: in a file, more is damage."""

LARGEST = 1e15
"""The largest number that is not whole, either way: beyond it figures have no axis."""

Measure = Literal["accuracy", "pra", "f1"]
"""The measures that a row can have."""


def _or_none(cell: object) -> object:
    """Return a cell of a file, or None if it is empty."""
    return None if cell == "" else cell


def _or_nan(cell: Any, bounded: Callable[[Any], float]) -> float:
    """Return a cell as a number within bounds, or NaN if it is empty or NaN."""
    # NaN alone differs from itself.
    return math.nan if cell == "" or cell != cell else bounded(cell)


Text = Annotated[str, Field(max_length=csv.field_size_limit())]
From0 = Annotated[int, Field(ge=0, le=MOST)]
From1 = Annotated[int, Field(ge=1, le=MOST)]
Amount = Annotated[int, Field(ge=0, lt=2**63)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST), WrapValidator(_or_nan)]
Positive = Annotated[float, Field(ge=0, le=LARGEST), WrapValidator(_or_nan)]
From0OrNone = Annotated[From0 | None, BeforeValidator(_or_none)]
From1OrNone = Annotated[From1 | None, BeforeValidator(_or_none)]
AmountOrNone = Annotated[Amount | None, BeforeValidator(_or_none)]
