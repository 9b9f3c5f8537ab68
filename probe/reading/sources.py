"""What gives examples: datasets, loaders, and whatever can be gone through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch.utils.data import BatchSampler, DataLoader, IterableDataset, Subset

from probe.errors import InputError, described


@dataclass(frozen=True, kw_only=True)
class Source:
    """Data as a run of items.

    items: gone through once; expected: how many examples they hold, None = nobody knows; batched:
    whether an item is a batch, None = only the item itself tells.
    """

    items: Iterable[object]
    expected: int | None
    batched: bool | None


def source_of(data: Any) -> Source:
    """Return data as a run of items; raises InputError if they cannot be gone through."""
    if isinstance(data, DataLoader):
        batched = True if data.batch_sampler is not None else None
        return Source(items=data, expected=_examples_of(data), batched=batched)
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
        return Source(items=data, expected=None, batched=False)
    n = len(data)
    return Source(items=(data[at] for at in range(n)), expected=n, batched=False)


def _examples_of(loader: DataLoader[Any]) -> int | None:
    """Return how many examples a loader gives, if that is certain."""
    batches = loader.batch_sampler
    # A sampler of the user's own may give batches of any size.
    if isinstance(loader.dataset, IterableDataset) or type(batches) is not BatchSampler:
        return None
    try:
        n = len(loader.sampler)  # type: ignore[arg-type]
    except TypeError:
        return None
    return n // batches.batch_size * batches.batch_size if batches.drop_last else n


def has_tasks(data: object) -> bool:
    """Whether task labels follow each x and y, as in Avalanche; also of what a loader reads."""
    while isinstance(data, DataLoader | Subset):
        data = data.dataset
    return hasattr(data, "targets_task_labels")


def each_item(items: Iterable[object]) -> Iterator[object]:
    """Yield the items; what the data raise becomes one sentence."""
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
