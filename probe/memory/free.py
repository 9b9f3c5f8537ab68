"""How much memory is free, as far as the system and the groups around this process say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

_ASSUMED = 4 * 10**9  # bytes of free memory, where the system does not say


def free_memory(device: torch.device) -> int:
    """Return how many bytes can still be taken on a device.

    On the CPU the least of what Linux calls available and what the control groups (version 1 and 2)
    around this process leave; page cache that can be reclaimed counts as free. On a system that
    says neither, 4 GB are assumed.
    """
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return min([*available(), *group_room()], default=_ASSUMED)


def available(file: Path = Path("/proc/meminfo")) -> Iterator[int]:
    """Yield the bytes that the machine has left, if the system says so."""
    for line in _lines(file):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def group_room(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[int]:
    """Yield the bytes that every control group around this process leaves of its limit, if any.

    root: where the groups are mounted; own: the file that names this process's.
    """
    for line in _lines(own):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            names = "memory.max", "memory.current", "inactive_file"
            yield from _room(root, path, names)
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _room(root / "memory", path, names)


def _room(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[int]:
    """Yield what a group and those above it leave; names: of limit, usage and reclaimable."""
    limit, usage, reclaimable = names
    group = root / path.strip("/")
    # Every group above limits too. Inside a container the path may be the host's: the root then is
    # the container's own.
    for folder in (group, *group.parents):
        if folder.is_relative_to(root):
            for most in map(_number, _lines(folder / limit)):
                used = sum(map(_number, _lines(folder / usage)))
                stat = dict(line.split() for line in _lines(folder / "memory.stat"))
                yield max(0, most - used + int(stat.get(reclaimable, 0)))


def _number(text: str) -> int:
    return 2**63 if text == "max" else int(text)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
