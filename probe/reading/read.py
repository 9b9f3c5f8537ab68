"""Data read into tensors, once, batch after batch, with a progress bar."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import length_hint
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, Subset

from probe.batch import Value, first, like, pieces, tensors
from probe.byte_sizes import show_size
from probe.errors import InputError, described, located
from probe.memory import MappedRows, free_memory
from probe.progress import progress_bar
from probe.reading.item_format import Batch, as_batch, same_form

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
        self, sample: Sequence[Tensor], expected: int | None, budget: int, scratch: Path | None
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
        doubled = max(needed, _START, 2 * self._capacity)
        most = self._budget // max(1, self._bytes)
        if not self._capacity and self._expected is not None:
            self._capacity = max(needed, self._expected)
        else:
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
        files_and_kinds = zip(files, self._kinds, strict=True)
        return [file.rows.view(n, *shape) for file, (shape, _) in files_and_kinds], files

    def _release_pages(self, files: Sequence[MappedRows] = ()) -> None:
        for file in (*files, *self._files):
            file.let_go()


def _stream(data: Any) -> tuple[Iterable[object], int | None, bool | None]:
    """Return the items of data, the number of examples, and whether an item is a batch.

    None where these are unknown. Raises InputError for data that cannot be iterated over.
    """
    if isinstance(data, DataLoader):
        return data, _length(data), True if data.batch_sampler is not None else None
    if isinstance(data, Mapping):
        names = ", ".join(map(repr, data)) or "nothing"
        raise InputError(f"the data are a mapping of {names}: give one of them, as data['train']")
    iterable, indexed = hasattr(data, "__iter__"), hasattr(data, "__getitem__")
    if not iterable and not indexed:
        raise InputError(f"data are of type {type(data).__name__}: give a Dataset or a DataLoader")
    if isinstance(data, IterableDataset) or not (hasattr(data, "__len__") and indexed):
        return data, None, False
    return (data[k] for k in range(len(data))), len(data), False


def _length(loader: DataLoader[Any]) -> int | None:
    """Return the number of examples that a loader gives, None if it is not certain."""
    batches = loader.batch_sampler
    n = length_hint(loader.sampler, -1)
    # A sampler of the user's own may give batches of any size.
    if isinstance(loader.dataset, IterableDataset) or type(batches) is not BatchSampler or n < 0:
        return None
    return n // batches.batch_size * batches.batch_size if batches.drop_last else n


def _each_item(items: Iterable[object]) -> Iterator[object]:
    """Yield the items; an error of the data becomes one sentence."""
    number = 0
    try:
        for number, item in enumerate(items, 1):  # noqa: B007
            yield item
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"item {number} of the data cannot be read: {described(error)}") from error


def read(
    data: object,
    limit: int | None,
    label: str | None,
    columns: str | Sequence[str] | None,
    budget: int | None,
    scratch: str | PathLike[str] | None,
    progress: bool,
) -> Batch:
    """Read all examples; the arguments are those of `Examples.of`.

    Returns:
        x, one or more tensors (N, ...), and y (N,).

    Raises:
        InputError: See `Examples.of`.
    """
    for name, number, least in (("limit", limit, 1), ("budget", budget, 0)):
        if number is not None and not (isinstance(number, int) and number >= least):
            raise InputError(f"{name} must be a whole number from {least}, got {number!r}")
    if not isinstance(scratch, str | PathLike | None):
        raise InputError(f"scratch must be the path of a folder, got {scratch!r}")
    items, expected, batched = _stream(data)
    while isinstance(data, DataLoader | Subset):
        data = data.dataset
    has_tasks = hasattr(data, "targets_task_labels")
    if expected is not None and limit is not None:
        expected = min(expected, limit)
    rows: RowBuffer | None = None
    with progress_bar("reading", expected, progress) as advance:
        for x, y in _batches(items, limit, partial(as_batch, batched, has_tasks, label, columns)):
            if rows is None:
                # Half: training needs memory too, and so may others.
                room = free_memory(torch.device("cpu")) // 2 if budget is None else budget
                sample = first(x, 0)
                folder = None if scratch is None else Path(scratch)
                rows = RowBuffer([*tensors(x), y], expected, room, folder)
            rows.add([*tensors(x), y])
            advance(len(y))
    if rows is None:
        raise InputError("the data hold no examples")
    *values, labels = rows.tensors()
    return like(sample, values), labels


def _batches(
    items: Iterable[object], limit: int | None, as_batch: Callable[[object], Batch]
) -> Iterator[Batch]:
    """Yield the data as batches of one form, up to `limit` examples."""
    sample: Value | None = None
    for number, item in enumerate(_each_item(items)):
        with located(f"item {number} of the data"):
            x, y = as_batch(item)
            sample = first(x, 1) if sample is None else sample
            x = same_form(x, sample)
        yield (x, y) if limit is None else (first(x, limit), y[:limit])
        if limit is not None:
            limit -= len(y)
            # Before the next item is asked for: it may be an expensive one.
            if limit <= 0:
                return
