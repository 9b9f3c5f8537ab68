"""Memory-mapped files in a scratch folder, which vanish with the process that uses them."""

import mmap
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from probe.errors import NotWritten

# Rows read before their pages are let go: the kernel maps up to 2 MB of a file for each.
_PIECE = 32

_TRIES = 1000  # at making a file in a folder that others remove when it is empty


class MappedRows:
    """A matrix in a nameless file: `rows` (N, D), all zeros at first.

    folder: where the file lies, made if need be; n, width: N and D. Raises NotWritten if the disk
    has no room for it.

    The file has no name from the start (or, on some systems, from right after it, when it is still
    empty), so that it is gone with the last process that has it mapped, however that ends. Its
    pages are page cache, which the kernel takes back when memory is short; as long as they are
    mapped they count as this process's all the same, and hide what it really needs. They are
    therefore let go as soon as they have served.
    """

    def __init__(self, folder: Path, n: int, width: int, dtype: torch.dtype) -> None:
        self._map = _mapped(folder, n * width * dtype.itemsize)
        self.rows: Tensor = torch.frombuffer(self._map, dtype=dtype).view(n, width)

    def gather(self, indices: Tensor) -> Tensor:
        """Return the rows (B, D) at `indices` (B,), in memory of their own, on the same device."""
        out = self.rows.new_empty((len(indices), self.rows.shape[1]))
        for part, some in zip(out.split(_PIECE), indices.cpu().split(_PIECE), strict=True):
            torch.index_select(self.rows, 0, some, out=part)
            self.let_go()
        return out.to(indices.device)

    def let_go(self) -> None:
        """Stop counting what was read and written as this process's; nothing is lost."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def _mapped(folder: Path, size: int) -> Any:
    """Return `size` bytes of a nameless file; raises NotWritten if the disk has no room for it."""
    try:
        with _nameless(folder) as file:
            _reserve(file.fileno(), size)
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise NotWritten(
            f"cannot keep values in {folder} ({error.strerror}): make room there, choose another "
            f"folder, or allow more memory"
        ) from None


def _nameless(folder: Path) -> IO[bytes]:
    for _ in range(_TRIES):
        # Not with those above it: a run directory that was moved away is not made anew.
        with suppress(FileExistsError):
            folder.mkdir()
        # Another process may have removed the empty folder in between.
        with suppress(FileNotFoundError):
            return tempfile.TemporaryFile(dir=folder, prefix="values.")
    return tempfile.TemporaryFile(dir=folder, prefix="values.")


def _reserve(file: int, size: int) -> None:
    """Take the bytes on the disk now; raises OSError if it has not as many."""
    # A disk that is full only when a page is written would kill the process.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)
