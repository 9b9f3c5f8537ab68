"""Where the values that prefixes give are to live: planned before any of them is computed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import torch

from probe.errors import InputError, unknown
from probe.values.free_memory import free_memory
from probe.values.sizes import show_size

Storage = Literal["fp32", "bf16"]
Place = Literal["in memory", "memory-mapped", "recomputed"]


@dataclass(frozen=True, kw_only=True)
class CacheSettings:
    """How the values that prefixes give may be kept; only `storage` can change a result.

    budget: bytes of memory for them, on the model's device; None = half of what is free there;
    scratch: folder for those that do not fit, None = they are computed again whenever they are
    needed; room: bytes of that folder's disk, None = half of what is free; storage: `bf16` keeps
    floating-point values in half the bytes of fp32, rounded to 8 significant bits.
    """

    budget: int | None = None
    storage: Storage = "fp32"
    scratch: Path | None = None
    room: int | None = None

    def __post_init__(self) -> None:
        for name, size in (("budget", self.budget), ("room", self.room)):
            if size is not None and (not isinstance(size, int) or size < 0):
                raise InputError(f"the cache's {name} must be a number of bytes, got {size!r}")
        if not isinstance(self.scratch, Path | None):
            raise InputError(
                f"the cache's scratch folder must be a pathlib.Path, got {self.scratch!r}"
            )
        if self.room and self.scratch is None:
            raise InputError("the cache has room on a disk but no scratch folder: name one")
        if self.storage not in get_args(Storage):
            raise unknown("storage", self.storage, get_args(Storage))

    def settled(self, device: torch.device, processes: int = 1) -> CacheSettings:
        """Return one process's share, with every None replaced by what is free now."""
        budget = free_memory(device) // 2 if self.budget is None else self.budget
        room = _free_disk(self.scratch) // 2 if self.room is None else self.room
        return replace(self, budget=budget // processes, room=room // processes)


@dataclass(frozen=True, kw_only=True)
class Need:
    """What keeping a feature's values takes, and what it saves.

    size: bytes for all examples; work: floating-point operations to compute one example's value.
    """

    feature: str
    size: int
    work: float


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Where a feature's values live; as text, the plan's line for it."""

    feature: str
    size: int
    place: Place

    def __str__(self) -> str:
        return f"{self.feature}: {show_size(self.size)}, {self.place}"


def placed(needs: Sequence[Need], settings: CacheSettings) -> tuple[Placed, ...]:
    """Return where each feature's values go, in the order of `needs`; the settings are settled.

    First served is whose bytes save most work, operations per byte: in most networks the deepest
    feature. Each goes to memory if it still fits there, else to a memory-mapped file if it still
    fits on the disk, else nowhere. What takes no bytes, the input itself, is in memory.

    >>> one, two = Need(feature="a", size=6, work=6), Need(feature="b", size=5, work=9)
    >>> [str(p) for p in placed([one, two], CacheSettings(budget=8, room=0))]
    ['a: 6 B, recomputed', 'b: 5 B, in memory']
    """
    left: dict[Place, int] = {"in memory": settings.budget or 0}
    left["memory-mapped"] = settings.room or 0
    places: dict[str, Place] = {}
    for need in sorted(needs, key=lambda need: -need.work / max(1, need.size)):
        fitting = [place for place, room in left.items() if need.size <= room]
        places[need.feature] = place = fitting[0] if fitting else "recomputed"
        if fitting:
            left[place] -= need.size
    return tuple(
        Placed(feature=need.feature, size=need.size, place=places[need.feature]) for need in needs
    )


def _free_disk(folder: Path | None) -> int:
    """Return the bytes free where a folder is or would be made."""
    if folder is None:
        return 0
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free
