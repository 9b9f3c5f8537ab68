"""Data read into tensors, once, batch after batch, with a progress bar.

Transforms and samplers draw from the global generators, which a named stream seeds.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import length_hint
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
)

from probe.batch import Value, first, identical, like, pieces, tensors
from probe.errors import InputError, described, located
from probe.memory import MappedRows, free_memory, show_size
from probe.progress import progress_bar
from probe.reading.item_format import Batch, as_batch, refuse_graph, same_form
from probe.seeding import every_global_stream, permutation, stream

_START = 256  # rows to begin with, where their number is unknown
_FEW = 16  # examples that are read again
# Bytes of a file that count as this process's memory before they are let go.
_ENOUGH = 2**24


def _stream(data: Any) -> tuple[Iterable[object], int | None, bool | None]:
    """Return the items of data, the number of examples, and whether an item is a batch.

    Number and kind of item are None where they are unknown. Raises InputError for data
    that cannot be iterated over.
    """
    if isinstance(data, DataLoader):
        return data, _length(data), True if data.batch_sampler is not None else None
    if isinstance(data, Mapping):
        names = ", ".join(map(repr, data)) or "nothing"
        raise InputError(
            f"the data are a mapping of {names}: give one of them, as data['train']"
        )
    if isinstance(data, Tensor) or getattr(data, "ndim", 1) == 0:
        raise InputError("the data are a tensor without labels: give a pair (x, y)")
    refuse_graph(data)
    if not hasattr(data, "__iter__") and not hasattr(data, "__getitem__"):
        raise InputError(
            f"data are of type {type(data).__name__}: give a Dataset or a DataLoader"
        )
    if not _is_indexed(data):
        return data, None, False
    return (data[k] for k in range(len(data))), len(data), False


def _is_indexed(data: object) -> bool:
    """Return whether data give items by index, 0 to their length - 1.

    Raises InputError if their length raises an error.
    """
    sized = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    if not sized or isinstance(data, IterableDataset):
        return False
    try:
        len(data)  # type: ignore[arg-type]
    except Exception as error:
        raise InputError(
            f"the data have no length ({described(error)}): let `__len__` return the "
            "number of examples"
        ) from error
    return True


def _length(loader: DataLoader[Any]) -> int | None:
    """Return the number of examples that a loader gives, None if it is not certain."""
    batches = loader.batch_sampler
    n = length_hint(loader.sampler, -1)
    # A sampler of the user's own may give batches of any size.
    if (
        isinstance(loader.dataset, IterableDataset)
        or type(batches) is not BatchSampler
        or n < 0
    ):
        return None
    return n // batches.batch_size * batches.batch_size if batches.drop_last else n


def _in_order(
    loader: DataLoader[Any], limit: int | None = None, few: bool = False
) -> DataLoader[Any]:
    """Return a loader of all examples in the order of the dataset, or of some of them.

    Shuffling and `drop_last` serve training. Each worker may read all of an iterable
    dataset. Loaders and samplers of other classes are returned unchanged.

    Args:
        loader: The loader.
        limit: The number of examples, drawn at random if the loader shuffles; None =
            all.
        few: Whether only a few examples are wanted, from everywhere in the dataset.
    """
    data = loader.dataset
    sampler = loader.sampler
    iterable = isinstance(data, IterableDataset)
    # Whether the sampler gives each example once.
    complete = type(sampler) in (SequentialSampler, RandomSampler) and (
        not getattr(sampler, "replacement", False) and len(sampler) == len(data)  # type: ignore[arg-type]
    )
    # A loader with a batch sampler of the user's own has no batch size.
    own_batches = (loader.batch_sampler is None) != (loader.batch_size is None)
    if type(loader) is not DataLoader or own_batches or not (iterable or complete):
        if iterable and loader.num_workers > 1:
            raise InputError(
                "each worker may read every example: give a loader with num_workers=0"
            )
        return loader
    if few and not iterable:
        data = _few(data)
    elif limit is not None and not iterable:
        order = torch.arange(len(data))  # type: ignore[arg-type]
        if isinstance(sampler, RandomSampler):
            order = permutation(len(order), stream(0, "read"))
        data = Subset(data, order[:limit].sort().values.tolist())
    workers = 0 if iterable or few else loader.num_workers
    return DataLoader(
        data,
        loader.batch_size,
        num_workers=workers,
        collate_fn=loader.collate_fn,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context if workers else None,
    )


def _few(data: Any) -> Subset[Any]:
    """Return a few examples from everywhere in indexed data."""
    return Subset(data, range(0, len(data), max(1, -(-len(data) // _FEW))))


def _check_draws(
    data: Any,
    as_batch: Callable[[object], Batch],
    columns_read: Sequence[Tensor] | None = None,
) -> None:
    """Read a few examples twice by one seed, once by another, and warn if the seed matters.

    Args:
        data: The data.
        as_batch: Function that makes a batch of an item.
        columns_read: The tensors of what was read; None = the data have an index, and
            are read later.

    Raises:
        InputError: They are drawn from a generator that is not torch's, numpy's or
            Python's.
    """
    # What was read counts as the first reading.
    readings = []
    if columns_read is not None:
        readings.append([column[:_FEW] for column in columns_read])
    for seed in (0, 0, 1)[len(readings) :]:
        source = _few(data) if columns_read is None else data
        if isinstance(data, DataLoader):
            source = _in_order(data, few=True)
        with every_global_stream(stream(seed, "read")):
            batches = [
                (*tensors(x), y)
                for x, y in _batches(_stream(source)[0], _FEW, as_batch)
            ]
        readings.append([torch.cat(column) for column in zip(*batches, strict=True)])
    same, same_by_other_seed = (
        all(map(identical, readings[0], reading)) for reading in readings[1:]
    )
    if not same:
        raise InputError(
            "each reading of the data gives other examples: "
            "stack what it gives into tensors once, and give those"
        )
    if not same_by_other_seed:
        warnings.warn(
            "the data are augmented or sampled at random: they are read as a fixed "
            "seed draws them",
            stacklevel=2,
        )


def _warn_of_sampling(loader: DataLoader[Any], n: int) -> None:
    """Warn if a loader gave n examples that are not those of its dataset, once each."""
    sampler = getattr(loader.batch_sampler, "sampler", loader.sampler)
    total = length_hint(loader.dataset, n)
    repeated = getattr(sampler, "replacement", False)
    if n != total or repeated:
        drawn = ", drawn with replacement" if repeated else ""
        warnings.warn(
            f"the loader gives {n:,} examples of a dataset of {total:,}{drawn}: these "
            "are read",
            stacklevel=2,
        )


def _each_item(items: Iterable[object]) -> Iterator[object]:
    """Yield the items; an error of the data becomes an InputError that names the item."""
    number = 0
    try:
        for item in items:
            number += 1
            yield item
    except InputError:
        raise
    except Exception as error:
        # `number` items came before the one that failed.
        raise InputError(
            f"item {number} of the data cannot be read: {described(error)}"
        ) from error


def read(
    data: object,
    limit: int | None,
    label: str | None,
    columns: str | Sequence[str] | None,
    names: Sequence[str] | None,
    budget: int | None,
    scratch: str | PathLike[str] | None,
    progress: bool,
) -> Batch:
    """Read all examples; `Examples.of` describes the arguments.

    Returns:
        x, one or more tensors (N, ...), and y (N,).

    Raises:
        InputError: The data or the arguments are invalid, see `Examples.of`.
    """
    _check_arguments(limit, budget, scratch)
    # The data set inside of loaders and subsets.
    dataset = data
    while isinstance(dataset, DataLoader | Subset):
        dataset = dataset.dataset
    is_indexed = _is_indexed(dataset)
    items, expected, batched = _stream(
        _in_order(data, limit) if isinstance(data, DataLoader) else data
    )
    if expected is not None and limit is not None:
        expected = min(expected, limit)
    item_format = partial(
        as_batch,
        batched,
        hasattr(dataset, "targets_task_labels"),
        label,
        columns,
        names,
    )
    # Indexed data are checked before the long reading, others after it.
    if is_indexed:
        _check_draws(data, item_format)
    seeded = every_global_stream(stream(0, "read"))
    with progress_bar("reading", expected, progress) as advance, seeded:
        batches = _batches(items, limit, item_format)
        if not (sample := next(batches, None)):
            raise InputError("the data hold no examples: give at least one")
        # A third of it: training needs memory, too, and so may other processes.
        room = free_memory(torch.device("cpu")) // 3 if budget is None else budget
        folder = Path(tempfile.gettempdir() if scratch is None else scratch)
        columns_read = _gathered(
            chain([sample], batches), expected, room, folder, advance, progress
        )
    # An iterator cannot be read again.
    if not is_indexed and not hasattr(data, "__next__"):
        _check_draws(data, item_format, columns_read)
    *values, labels = columns_read
    if isinstance(data, DataLoader) and limit is None:
        _warn_of_sampling(data, len(labels))
    return like(sample[0], values), labels


def _check_arguments(limit: object, budget: object, scratch: object) -> None:
    """Raise InputError for a limit, budget or scratch folder of the wrong type or size."""
    for name, number, least in (("limit", limit, 1), ("budget", budget, 0)):
        if number is not None and not (isinstance(number, int) and number >= least):
            raise InputError(
                f"{name} must be a whole number from {least}, got {number!r}"
            )
    if not isinstance(scratch, str | PathLike | None):
        raise InputError(f"`scratch` must be the path of a folder, got {scratch!r}")


def _batches(
    items: Iterable[object], limit: int | None, as_batch: Callable[[object], Batch]
) -> Iterator[Batch]:
    """Yield the data as batches of the same form, up to `limit` examples."""
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


def _gathered(
    batches: Iterable[Batch],
    expected: int | None,
    budget: int,
    scratch: Path,
    advance: Callable[[int], object],
    progress: bool,
) -> list[Tensor]:
    """Return the tensors of all examples, (N, ...), in memory or, beyond `budget` bytes, in files.

    If the number of examples is unknown, the room for them is doubled as needed.
    """
    columns = list[Tensor]()
    files = list[MappedRows]()
    n = capacity = unreleased = 0
    for x, y in batches:
        batch = [*tensors(x), y]
        end = n + len(y)
        if end > capacity:
            # The bytes of an example.
            size = sum(
                tensor.shape[1:].numel() * tensor.dtype.itemsize for tensor in batch
            )
            capacity = _capacity(end, capacity, expected, budget // max(1, size))
            folder = scratch if capacity * size > budget else None
            before = [column[:n] for column in columns]
            columns, files = _enlarged(before, files, batch, capacity, folder)
        for column, tensor in zip(columns, batch, strict=True):
            column[n:end] = tensor
        n = end
        unreleased += sum(tensor.nbytes for tensor in batch)
        # Not after each batch: releasing a batch takes longer than writing it.
        if unreleased > _ENOUGH:
            unreleased = 0
            _release_pages(files)
        advance(len(y))
    _release_pages(files)
    if files and progress:
        used = show_size(sum(column[:n].nbytes for column in columns))
        print(
            f"{used} of data are in a file in {scratch} until this process ends",
            file=sys.stderr,
        )
    columns = [column[:n] for column in columns]
    if not files and n < capacity:
        # A copy gives back the memory that is not used.
        return [column.clone() for column in columns]
    return columns


def _capacity(needed: int, before: int, expected: int | None, fitting: int) -> int:
    """Return the number of rows to make room for: the needed ones, and some more at a time.

    before: the number that there was room for, 0 at first; expected: the number of all
    rows, None if it is unknown; fitting: the number that fits into the budget.
    """
    if not before and expected is not None:
        return max(needed, expected)
    doubled = max(needed, _START, 2 * before)
    # Rows that fit into the budget stay in memory, even if twice as many would not.
    return fitting if needed <= fitting < doubled else doubled


def _enlarged(
    before: Sequence[Tensor],
    files_before: Sequence[MappedRows],
    batch: Sequence[Tensor],
    n: int,
    folder: Path | None,
) -> tuple[list[Tensor], list[MappedRows]]:
    """Return columns of n rows, one for each tensor of a batch, and the files that hold them.

    They begin with copies of the columns before. Without a folder they are in memory,
    and there are no files.
    """
    columns = list[Tensor]()
    files = list[MappedRows]()
    for tensor in batch:
        shape = tensor.shape[1:]
        if folder is None:
            columns.append(torch.empty((n, *shape), dtype=tensor.dtype, device="cpu"))
        else:
            files.append(MappedRows(folder, n, shape.numel(), tensor.dtype))
            columns.append(files[-1].rows.view(n, *shape))
    for old, new in zip(before, columns, strict=False):
        for piece, target in zip(pieces(old), pieces(new), strict=False):
            target[: len(piece)] = piece
            _release_pages([*files_before, *files])
    return columns, files


def _release_pages(files: Iterable[MappedRows]) -> None:
    """Let the system take back the memory in which it holds pages of the files."""
    for file in files:
        file.let_go()
