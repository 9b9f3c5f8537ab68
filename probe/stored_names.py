"""The grammar of names in tables and stored files, which are parsed only here.

A readout is `NAME[:EXAMPLES][@MULTIPLE][+bn]`, such as `linear:20` or `retrain@2+bn`. The
last network with blocks of the network after j tasks put back is `rewound@j`, and readouts
of it are `upstream:NAME@j` and `block:NAME@j`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from probe.metrics.murata import RETRAIN

DIAGNOSTICS = "diagnostics"
"""Diagnostics without a readout: a feature's dead units, rank, and similarity across networks."""

Peer = int | str
"""A network to compare with: its number of tasks learned, or the name of a control."""

_REESTIMATED = "+bn"
_READOUT = re.compile(r"(?:(upstream|block):)?([^:@+]*)(?::(\d+))?(?:@(\d+))?(\+bn)?")
_BLOCKS = " + "
_SIMILARITY = "cka."
_STEP = "step-"


class PutBack(StrEnum):
    """The blocks of an earlier network that are put back into the last one."""

    NOTHING = ""
    SETS = "rewound"
    """Sets of blocks, without a readout."""
    UPSTREAM = "upstream"
    """All blocks upstream of the feature's own."""
    BLOCK = "block"
    """The feature's own block."""


@dataclass(frozen=True)
class ReadoutName:
    """A readout with its variant; `str` prints it.

    Attributes:
        base: The name of its kind, such as `retrain`; empty for a network's own output.
        per_class: The training examples of each class, None = all.
        budget: The multiple of the epochs of a retraining.
        reestimates: Whether batch norm's statistics are estimated on all tasks.
        put_back: The blocks that are put back.
        since: The number of tasks learned by the network that they come from.
    """

    base: str = ""
    per_class: int | None = None
    budget: int = 1
    reestimates: bool = False
    put_back: PutBack = PutBack.NOTHING
    since: int = 0

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> "ReadoutName":
        """Return the readout of a printed name.

        >>> ReadoutName.parse("retrain@2+bn").budget, ReadoutName.parse("linear:20").per_class
        (2, 20)
        """
        match = _READOUT.fullmatch(text)
        if match is None:
            return cls(base=text)
        blocks, base, per_class, number, statistics = match.groups()
        name = cls(
            base=base,
            per_class=int(per_class) if per_class else None,
            reestimates=statistics is not None,
        )
        if base == PutBack.SETS:
            name = replace(name, base="")
            blocks = base
        if blocks:
            return replace(name, put_back=PutBack(blocks), since=int(number or 0))
        return replace(name, budget=int(number or 1))

    @property
    def planned(self) -> str:
        """The name under which a plan lists the readout: without its variant.

        >>> ReadoutName.parse("block:linear:20@3").planned
        'linear:20'
        """
        if self.per_class is None:
            return self.base
        return f"{self.base}:{self.per_class}"

    @property
    def is_retraining(self) -> bool:
        """Whether the network's own layers are retrained."""
        return self.base == RETRAIN

    @property
    def listed(self) -> str:
        """The name without its numbers, under which results that nobody asks for are listed."""
        return str(replace(self, budget=1, reestimates=False, since=0))

    def __str__(self) -> str:
        name = self.planned
        if self.put_back == PutBack.SETS:
            name = self.put_back
        elif self.put_back:
            name = f"{self.put_back}:{name}"
        number = self.since if self.put_back else self.budget
        default = 0 if self.put_back else 1
        if number != default:
            name = f"{name}@{number}"
        return f"{name}{_REESTIMATED}" if self.reestimates else name


OUTPUT = ReadoutName()
"""No readout: the network's own output."""


def name_of_blocks(blocks: Iterable[str]) -> str:
    """Return the name of a set of blocks that is put back, by depth; empty for none.

    >>> name_of_blocks(["conv1", "output"])
    'conv1 + output'
    """
    return _BLOCKS.join(blocks)


def blocks_in(name: str) -> tuple[str, ...]:
    """Return the blocks of a name by `name_of_blocks`."""
    return tuple(name.split(_BLOCKS)) if name else ()


def peer_name(peer: Peer) -> str:
    """Return the name of a network to compare with.

    >>> peer_name(3), peer_name("offline")
    ('step-3', 'offline')
    """
    return f"{_STEP}{peer}" if isinstance(peer, int) else peer


def similarity_name(peer: Peer) -> str:
    """Return the name of the similarity to a network, among diagnostics.

    >>> similarity_name(3)
    'cka.step-3'
    """
    return f"{_SIMILARITY}{peer_name(peer)}"


def is_similarity(name: str) -> bool:
    """Return whether a diagnostic is the similarity to a network."""
    return name.startswith(_SIMILARITY)


def compared_step(name: str) -> int | None:
    """Return the tasks learned by the earlier network of a similarity, None for other names.

    >>> compared_step("cka.step-3"), compared_step("cka.offline"), compared_step("rank")
    (3, None, None)
    """
    prefix = f"{_SIMILARITY}{_STEP}"
    return int(name.removeprefix(prefix)) if name.startswith(prefix) else None
