"""Rows that grow batch after batch, in memory or, when it is full, in mapped files."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from probe.batch import pieces
from probe.byte_sizes import show_size
from probe.errors import InputError
from probe.memory import MappedRows

_START = 256  # rows to begin with, where their number is unknown
_ENOUGH = 2**24  # bytes of a file that count as this process's memory before they are let go


class RowBuffer:
    """N examples' tensors, each (N, ...), to which batches are added; N grows.

    Args:
        sample: A batch, each tensor (n, ...), of the shapes and types to come.
        expected: The number of examples to come, None = unknown: then the rows double as needed,
            and take up to twice their bytes meanwhile.
        budget: Bytes of memory for the rows.
        scratch: A folder for files of rows that do not fit, None = there is none.

    Raises:
        InputError: The rows fit nowhere.
        NotWritten: The disk is full.
    """

    def __init__(
        self, sample: Sequence[Tensor], expected: int | None, *, budget: int, scratch: Path | None
    ) -> None:
        self._kinds = [(tensor.shape[1:], tensor.dtype) for tensor in sample]
        self._bytes = sum(shape.numel() * dtype.itemsize for shape, dtype in self._kinds)
        self._expected, self._budget, self._scratch = expected, budget, scratch
        self._n = self._capacity = self._touched = 0
        self._rows: list[Tensor] = []
        self._files: list[MappedRows] = []

    def add(self, batch: Sequence[Tensor]) -> None:
        """Append a batch, each tensor (n, ...)."""
        end = self._n + len(batch[0])
        if end > self._capacity:
            self._grow(end)
        for rows, tensor in zip(self._rows, batch, strict=True):
            rows[self._n : end] = tensor
        self._n = end
        self._touched += len(batch[0]) * self._bytes
        # Not for each example: it takes longer than to write it.
        if self._touched > _ENOUGH:
            self._touched = 0
            self._release_pages()

    def tensors(self) -> list[Tensor]:
        """Return the rows so far, each tensor (N, ...), over memory or a mapped file."""
        self._release_pages()
        rows = [tensor[: self._n] for tensor in self._rows]
        # Memory that is not used is given back.
        return rows if self._files or self._n == self._capacity else [t.clone() for t in rows]

    def _grow(self, needed: int) -> None:
        """Make room for `needed` rows or more, and copy those that are there."""
        before, files = self._rows, self._files
        if not self._capacity and self._expected is not None:
            self._capacity = max(needed, self._expected)
        else:
            doubled = max(needed, _START, 2 * self._capacity)
            most = self._budget // max(1, self._bytes)
            # What fits into the budget is never refused for what doubling would take.
            self._capacity = most if needed <= most < doubled else doubled
        self._rows, self._files = self._allocate(self._capacity)
        for old, new in zip(before, self._rows, strict=False):
            start = 0
            for piece in pieces(old[: self._n]):
                new[start : start + len(piece)] = piece
                start += len(piece)
                self._release_pages(files)

    def _allocate(self, n: int) -> tuple[list[Tensor], list[MappedRows]]:
        """Return n rows of each tensor, in memory if they fit, else in files, and the files."""
        if n * self._bytes <= self._budget:
            return [torch.empty((n, *shape), dtype=dtype) for shape, dtype in self._kinds], []
        if self._scratch is None:
            many = f"more than {self._n:,}" if self._expected is None else f"{n:,}"
            raise InputError(
                f"{many} examples of {show_size(self._bytes)} exceed {show_size(self._budget)}: "
                f"give scratch=, a folder on a disk with space, a larger budget=, or a limit="
            )
        files = [MappedRows(self._scratch, n, s.numel(), dtype) for s, dtype in self._kinds]
        shapes = [shape for shape, _ in self._kinds]
        return [f.rows.view(n, *shape) for f, shape in zip(files, shapes, strict=True)], files

    def _release_pages(self, files: Sequence[MappedRows] = ()) -> None:
        for file in (*files, *self._files):
            file.let_go()
