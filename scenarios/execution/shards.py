"""Shards: which jobs each of several processes on one run directory begins with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from probe.errors import InputError

_T = TypeVar("_T")


@dataclass(frozen=True)
class Shard:
    """The number of a process, from 1, and how many there are."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Read `i/n`; raises InputError for anything else.

        >>> Shard.read("2/8")
        Shard(number=2, of=8)
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"--shard expects i/n with i from 1 to n, as 3/8, got {text!r}")
        return cls(int(match[1]), int(match[2]))

    def order(self, jobs: Sequence[_T]) -> list[_T]:
        """Return all jobs, its own first: every n-th. Then those of the others, from their end.

        So it helps where most is left, and meets the others as late as can be.

        >>> Shard(2, 3).order("abcdefg")
        ['b', 'e', 'f', 'c', 'g', 'd', 'a']
        """
        own = list(jobs[self.number - 1 :: self.of])
        later = (jobs[(self.number - 1 + k) % self.of :: self.of] for k in range(1, self.of))
        return own + [job for part in later for job in reversed(part)]
