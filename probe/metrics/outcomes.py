"""Test examples that a model classified correctly, stored as one bit each."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Outcomes:
    """A bit for each of N test examples: whether it was classified correctly.

    Counts give only their number; the bits show whether two models are correct on the same
    examples, and with it the uncertainty of their difference. size: N; bits: eight examples to a
    byte, the first in the highest bit, zeros after the last. Raises ValueError for bits that are
    not those of N examples.

    >>> Outcomes.of([1, 0, 1]).right.tolist()
    [True, False, True]
    """

    size: int
    bits: bytes

    def __post_init__(self) -> None:
        if type(self.size) is not int or self.size < 0 or len(self.bits) != -(-self.size // 8):
            raise ValueError(f"{len(self.bits)} bytes are not the bits of {self.size} examples")
        if self.size % 8 and self.bits[-1] & (0xFF >> self.size % 8):
            raise ValueError("bits after the last example must be 0")

    @classmethod
    def of(cls, right: ArrayLike) -> Outcomes:
        """Pack whether each example, (N,), is right."""
        flags = np.asarray(right, dtype=bool)
        return cls(len(flags), np.packbits(flags).tobytes())

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each example is classified correctly, (N,)."""
        packed = np.frombuffer(self.bits, np.uint8)
        return np.unpackbits(packed, count=self.size).astype(bool)

    def to_record(self) -> dict[str, Any]:
        """Return it as values that JSON has; `of_record` is the inverse."""
        return {"size": self.size, "bits": base64.b64encode(self.bits).decode()}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Outcomes:
        """Return what `to_record` gave; raises KeyError, TypeError or ValueError for all else."""
        return cls(record["size"], base64.b64decode(record["bits"], validate=True))
