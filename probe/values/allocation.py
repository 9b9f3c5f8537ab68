"""Allocation of the values of prefixes, decided before any of them is computed."""

import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self

import torch
from pydantic import Strict

from probe.arrays import Storage
from probe.errors import InputError
from probe.immutable import immutable
from probe.memory import free_memory, show_size
from probe.validation import WholeNumber, configuration

Location = Literal["in memory", "memory-mapped", "recomputed"]
"""The location of a feature's values; `recomputed` ones are computed on every request."""


@configuration
class CacheSettings:
    """Limits on the cache of values; only `storage` can change a result.

    >>> CacheSettings(budget=2**30, storage="bf16").scratch is None
    True

    Args:
        budget: Bytes of memory on the model's device; None = half of the free memory.
        scratch: A folder for values that do not fit; None = they are computed again
            when needed.
        room: Bytes on the disk of that folder; None = half of the free space.
        storage: `bf16` stores floating-point values in half the bytes of fp32, rounded
            to 8 significant bits.

    Raises:
        InputError: A size is invalid, the scratch folder is not a path, room is given
            without a scratch folder, or the storage is unknown.
    """

    budget: WholeNumber | None = None
    storage: Storage = "fp32"
    scratch: Annotated[Path, Strict()] | None = None
    room: WholeNumber | None = None

    def __post_init__(self) -> None:
        if self.room and self.scratch is None:
            raise InputError("got room without a scratch folder: give scratch=, too")

    def settled(self, device: torch.device, processes: int = 1) -> Self:
        """Return the settings for one process, with every None replaced by half of the free bytes.

        Args:
            device: The model's device.
            processes: The number of processes that share memory and disk.

        Returns:
            The settings.
        """
        # Half: training needs memory too, and so may others.
        budget = free_memory(device) // 2 if self.budget is None else self.budget
        room = self.room or 0
        if self.room is None and self.scratch is not None:
            # The folder may not exist yet.
            folders = self.scratch, *self.scratch.absolute().parents
            room = shutil.disk_usage(next(filter(Path.exists, folders))).free // 2
        return replace(
            self,
            budget=budget // processes,
            room=room // processes,
        )


@immutable
class Allocation:
    """The location of a feature's values, and their bytes; as text, a line of the plan.

    >>> print(Allocation(feature="conv1", size=2_000_000, location="in memory"))
    conv1: 2.0 MB, in memory
    """

    feature: str
    size: int
    location: Location

    def __str__(self) -> str:
        return f"{self.feature}: {show_size(self.size)}, {self.location}"


def allocate(
    sizes: Mapping[str, int],
    work: Mapping[str, float],
    settings: CacheSettings,
) -> tuple[Allocation, ...]:
    """Choose where each feature's values are stored.

    The feature that saves most work for its bytes (operations per byte) comes first: in
    most networks the deepest. Its values go to memory if they still fit, else to a
    memory-mapped file if they still fit on the disk; otherwise they are recomputed. The
    input itself takes no bytes and is in memory.

    Args:
        sizes: Bytes of all examples' values, by feature.
        work: Floating-point operations to compute one example's value, by feature.
        settings: The limits, see `CacheSettings.settled`.

    Returns:
        The allocations, in the order of `sizes`.

    >>> plan = allocate({"a": 6, "b": 5}, {"a": 6, "b": 9}, CacheSettings(budget=8, room=0))
    >>> [str(each) for each in plan]
    ['a: 6 B, recomputed', 'b: 5 B, in memory']
    """
    free: dict[Location, float] = {"in memory": settings.budget or 0}
    free |= {"memory-mapped": settings.room or 0, "recomputed": math.inf}
    chosen: dict[str, Allocation] = {}
    for name in sorted(sizes, key=lambda name: -work[name] / max(1, sizes[name])):
        # The dict is in order of preference, and the last location takes everything.
        first = next(location for location, room in free.items() if sizes[name] <= room)
        free[first] -= sizes[name]
        chosen[name] = Allocation(
            feature=name,
            size=sizes[name],
            location=first,
        )
    return tuple(chosen[name] for name in sizes)
