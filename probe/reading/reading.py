"""Data read into tensors, once, batch after batch, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

import torch

from probe.batch import Value, first, like, tensors
from probe.errors import InputError
from probe.memory import free_memory
from probe.reading.growing import GrowingRows, Room
from probe.reading.items import Batch, ItemForm, same_form
from probe.reading.sources import Source, each_item, has_tasks, source_of
from probe.seeding import python_generators


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """How much is read of which parts, and where it is kept; see `Examples.of`.

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
        """Where the examples may lie, by what is free now."""
        # Half: training needs memory too, and so may others.
        free = free_memory(torch.device("cpu")) // 2 if self.budget is None else self.budget
        return Room(budget=free, scratch=None if self.scratch is None else Path(self.scratch))


def read(data: object, how: ReadSettings) -> Batch:
    """Return x, one or more tensors (N, ...), and y (N,) of all examples; see `Examples.of`."""
    source = source_of(data)
    form = ItemForm(
        batched=source.batched, tasks=has_tasks(data), label=how.label, columns=how.columns
    )
    expected, limit = source.expected, how.limit
    if expected is not None and limit is not None:
        expected = min(expected, limit)
    with _bar(expected, how.progress) as bar:
        return _kept(_batches(source, form, limit), expected, how.room, bar)


def _batches(source: Source, form: ItemForm, limit: int | None) -> Iterator[Batch]:
    """Yield what the data give as batches of one form, no more examples than `limit`."""
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


def _kept(batches: Iterator[Batch], expected: int | None, room: Room, bar: _Bar) -> Batch:
    """Return all batches as one, in memory or in mapped files."""
    form: Value | None = None
    rows: GrowingRows | None = None
    for x, y in batches:
        if form is None or rows is None:
            form = first(x, 0)
            rows = GrowingRows([*tensors(x), y], expected, room)
        rows.add([*tensors(x), y])
        bar(len(y))
    if form is None or rows is None:
        raise InputError("the data hold no examples")
    *parts, labels = rows.tensors()
    return like(form, parts), labels


class _Bar(Protocol):
    """Shows that n more examples were read."""

    def __call__(self, n: int, /) -> None: ...


@contextmanager
def _bar(expected: int | None, wanted: bool) -> Iterator[_Bar]:
    """Show on a terminal how many examples were read, and how long the rest will take."""
    with python_generators():  # to import it draws a number from `random`
        from rich.console import Console
        from rich.progress import Progress

    console = Console(stderr=True)
    hidden = not (wanted and console.is_terminal)
    with Progress(console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("reading", total=expected)
        yield lambda n: progress.advance(task, n)
