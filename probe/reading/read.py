"""Data read into tensors, once, batch after batch, with a progress bar."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, Subset

from probe.batch import Value, first, like, tensors
from probe.errors import InputError, described
from probe.memory import free_memory
from probe.progress import progress_bar
from probe.reading.item_format import Batch, ItemForm, same_form
from probe.reading.row_buffer import GrowingRows, Room


@dataclass(frozen=True)
class ReadSettings:
    """Limits and parts of the data to read, and their room; see `Examples.of`.

    Raises InputError for a limit, a budget and a scratch folder that cannot be.
    """

    limit: int | None = None
    label: str | None = None
    columns: str | Sequence[str] | None = None
    budget: int | None = None
    scratch: str | PathLike[str] | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        if self.limit is not None and not (isinstance(self.limit, int) and self.limit > 0):
            raise InputError(f"limit must be a number of examples from 1, got {self.limit!r}")
        if self.budget is not None and not (isinstance(self.budget, int) and self.budget >= 0):
            raise InputError(f"budget must be a number of bytes, got {self.budget!r}")
        if not isinstance(self.scratch, str | PathLike | None):
            raise InputError(f"scratch must be the path of a folder, got {self.scratch!r}")

    @property
    def room(self) -> Room:
        """The storage for the examples, by the memory that is free now."""
        # Half: training needs memory too, and so may others.
        free = free_memory(torch.device("cpu")) // 2 if self.budget is None else self.budget
        return Room(budget=free, scratch=None if self.scratch is None else Path(self.scratch))


@dataclass(frozen=True, kw_only=True)
class ItemStream:
    """Data as a stream of items.

    items: iterated over once; expected: the number of their examples, None = unknown; batched:
    whether an item is a batch, None = only the item itself tells.
    """

    items: Iterable[object]
    expected: int | None
    batched: bool | None


def stream_of(data: Any) -> ItemStream:
    """Return data as a stream of items; raises InputError if they cannot be iterated over."""
    if isinstance(data, DataLoader):
        batched = True if data.batch_sampler is not None else None
        return ItemStream(items=data, expected=_examples_of(data), batched=batched)
    if isinstance(data, Mapping):
        names = ", ".join(map(repr, data)) or "nothing"
        raise InputError(f"the data are a mapping of {names}: give one of them, as data['train']")
    iterable, indexed = hasattr(data, "__iter__"), hasattr(data, "__getitem__")
    if isinstance(data, IterableDataset) or not (hasattr(data, "__len__") and indexed):
        if not iterable and not indexed:
            raise InputError(
                f"the data are of type {type(data).__name__}, expected a Dataset, a DataLoader, or "
                f"anything that gives pairs (x, y)"
            )
        return ItemStream(items=data, expected=None, batched=False)
    n = len(data)
    return ItemStream(items=(data[at] for at in range(n)), expected=n, batched=False)


def _examples_of(loader: DataLoader[Any]) -> int | None:
    """Return the number of examples that a loader gives, None if it is not certain."""
    batches = loader.batch_sampler
    # A sampler of the user's own may give batches of any size.
    if isinstance(loader.dataset, IterableDataset) or type(batches) is not BatchSampler:
        return None
    try:
        n = len(loader.sampler)  # type: ignore[arg-type]
    except TypeError:
        return None
    return n // batches.batch_size * batches.batch_size if batches.drop_last else n


def each_item(items: Iterable[object]) -> Iterator[object]:
    """Yield the items; an error of the data becomes one sentence."""
    at = 0
    try:
        for at, item in enumerate(items, 1):  # noqa: B007
            yield item
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"item {at} of the data cannot be read ({described(error)}): correct the data or their "
            f"transforms"
        ) from error


def read(data: object, how: ReadSettings) -> Batch:
    """Return x, one or more tensors (N, ...), and y (N,) of all examples; see `Examples.of`."""
    source, inner = stream_of(data), data
    while isinstance(inner, DataLoader | Subset):
        inner = inner.dataset
    form = ItemForm(
        batched=source.batched,
        tasks=hasattr(inner, "targets_task_labels"),
        label=how.label,
        columns=how.columns,
    )
    limit, expected = how.limit, source.expected
    if expected is not None and limit is not None:
        expected = min(expected, limit)
    begun: Value | None = None
    rows: GrowingRows | None = None
    with progress_bar("reading", expected, how.progress) as advance:
        for x, y in _batches(source, form, limit):
            if begun is None or rows is None:
                begun, rows = first(x, 0), GrowingRows([*tensors(x), y], expected, how.room)
            rows.add([*tensors(x), y])
            advance(len(y))
    if begun is None or rows is None:
        raise InputError("the data hold no examples")
    *parts, labels = rows.tensors()
    return like(begun, parts), labels


def _batches(source: ItemStream, form: ItemForm, limit: int | None) -> Iterator[Batch]:
    """Yield the data as batches of one form, up to `limit` examples."""
    begun: Value | None = None
    left = limit
    for at, item in enumerate(each_item(source.items)):
        try:
            x, y = form.batch(item)
            begun = first(x, 1) if begun is None else begun
            x = same_form(x, begun)
        except InputError as error:
            raise InputError(f"item {at} of the data: {error}") from None
        yield (x, y) if left is None else (first(x, left), y[:left])
        if left is not None:
            left -= len(y)
            # Before the next item is asked for: it may be an expensive one.
            if left <= 0:
                return
