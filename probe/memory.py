"""Memory: the free amount, and memory-mapped files instead of it."""

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import torch
from torch import Tensor

from probe.errors import NotWritten

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
    """Yield the bytes of memory that are available, if the system reports them."""
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
            yield from _room(root, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _room(root / "memory", path, *names)


def _room(root: Path, path: str, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    """Yield the bytes left by a group and those above it, by the names of their files."""
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


# Rows read before their pages are let go: the kernel maps up to 2 MB of a file for each.
_PIECE = 32

_TRIES = 1000  # at making a file in a folder that others remove when it is empty


class MappedRows:
    """A matrix in a nameless file: `rows` (N, D), all zeros at first.

    folder: where the file lies, made if need be; n, width: N and D. Raises NotWritten if the disk
    has no room for it.

    The file has no name, so that it is gone with the last process that has it mapped, however that
    ends. Its pages are page cache, which the kernel takes back when memory is short; but as long as
    they are mapped they count as this process's. They are therefore let go once they have served.
    """

    def __init__(self, folder: Path, n: int, width: int, dtype: torch.dtype) -> None:
        size = n * width * dtype.itemsize
        try:
            with _nameless(folder) as file:
                # A disk that is full only when a page is written would kill the process.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    os.truncate(file.fileno(), size)
                self._map = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise NotWritten(
                f"cannot keep values in {folder} ({error.strerror}): make room there, choose "
                f"another folder, or allow more memory"
            ) from None
        self.rows: Tensor = torch.frombuffer(self._map, dtype=dtype).view(n, width)

    def gather(self, indices: Tensor) -> Tensor:
        """Return the rows (B, D) at `indices` (B,), in new memory, on the same device."""
        out = self.rows.new_empty((len(indices), self.rows.shape[1]))
        for part, some in zip(out.split(_PIECE), indices.cpu().split(_PIECE), strict=True):
            torch.index_select(self.rows, 0, some, out=part)
            self.let_go()
        return out.to(indices.device)

    def let_go(self) -> None:
        """Release the pages read and written from this process's memory; nothing is lost."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def _nameless(folder: Path) -> IO[bytes]:
    for _ in range(_TRIES):
        # Not with those above it: a run directory that was moved away is not made anew.
        with suppress(FileExistsError):
            folder.mkdir()
        # Another process may have removed the empty folder in between.
        with suppress(FileNotFoundError):
            return tempfile.TemporaryFile(dir=folder, prefix="values.")
    return tempfile.TemporaryFile(dir=folder, prefix="values.")
