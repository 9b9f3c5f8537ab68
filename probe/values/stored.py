"""The values that prefixes give, by index: kept in memory or in a file, or computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from probe.examples import Rows, Value, tensors
from probe.values.inputs import Inputs
from probe.values.layout import Form, Layout, layout_of, strides_of
from probe.values.placement import Storage
from probe.values.scratch import Mapped

Prefix = Callable[[Tensor], Value]

_SHIFTS = (1, 2, 3, 5)  # of a batch, to see whether a value depends on the place in it
_WATCHED = 16  # batches


class Stored:
    """Values kept in memory, or in a memory-mapped file where a scratch folder is given.

    The parts that are the input itself are not copied.
    """

    def __init__(self, form: Form, x: Inputs, scratch: Path | None) -> None:
        self._form, self._n, self._device = form, len(x), x.x.device
        self._rows = [x.rows if part.given else self._room(part, scratch) for part in form.parts]

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, indices: Tensor) -> Value:
        gathered = (
            rows.gather(indices.cpu()).to(self._device)
            if isinstance(rows, Mapped)
            else rows.index_select(0, indices)
            for rows in self._rows
        )
        return self._form.value(list(gathered))

    def put(self, value: Value, places: Tensor, slots: Tensor) -> None:
        """Keep a value's examples at `slots` as the rows at `places`."""
        parts = zip(self._form.parts, self._rows, strict=True)
        own = [None if part.given else _whole(rows) for part, rows in parts]
        self._form.write(value, own, places, slots)
        for rows in self._rows:
            if isinstance(rows, Mapped):
                rows.let_go()

    def _room(self, part: Layout, scratch: Path | None) -> Tensor | Mapped:
        if scratch is not None:
            return Mapped(scratch, self._n, part.width, part.stored)
        return torch.empty((self._n, part.width), dtype=part.stored, device=self._device)


class Recomputed:
    """Values computed again from the inputs whenever they are asked for, bit for bit the same.

    The last bits of a product or a convolution depend on the batch's size, which is therefore
    always the one with which stores are filled. Some (of matrices with rows that are no multiple of
    16 bytes, say) depend on the place in the batch as well. If the prefix shows this on a batch,
    every example is computed at its place in the filling pass, which takes several rounds.
    """

    def __init__(self, form: Form, prefix: Prefix, x: Inputs, size: int) -> None:
        self._form, self._prefix, self._x, self._size = form, prefix, x, size
        self._own = not _steady(prefix, x, size)

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, indices: Tensor) -> Value:
        device = self._x.x.device
        rows = [
            torch.empty((len(indices), part.width), dtype=part.stored, device=device)
            for part in self._form.parts
        ]
        # Whoever trains the tail in reduced precision gets the values that a store would give.
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            for places, slots, batch in self._x.batches(indices, self._size, self._own):
                self._form.write(self._prefix(batch), rows, places, slots)
        return self._form.value(rows)


@dataclass(frozen=True)
class Served:
    """Values and the labels that belong to them: what `fit` and `evaluate` take."""

    x: Rows
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


@torch.no_grad()
def fill(
    stores: Mapping[str, Stored],
    values: Callable[[Tensor], Mapping[str, Value]],
    x: Inputs,
    size: int,
) -> None:
    """Fill all stores in one pass over the inputs, `size` at a time, each value put in its place.

    values: maps a batch to every store's value, by name.
    """
    if stores:
        for places, slots, batch in x.batches(torch.arange(len(x), device=x.x.device), size):
            for name, value in values(batch).items():
                stores[name].put(value, places, slots)


@torch.no_grad()
def form_of(prefix: Prefix, x: Inputs, size: int, storage: Storage) -> Form:
    """Return what a prefix's values look like, seen on one batch of `size` of the inputs."""
    _, _, batch = next(x.batches(torch.arange(min(size, len(x)), device=x.x.device), size))
    before, version = batch.clone(), batch._version
    value = prefix(batch)
    untouched = batch._version == version and torch.equal(before, batch)
    parts = tensors(value)
    layouts = (layout_of(part, storage, untouched and _same(part, batch)) for part in parts)
    return Form(tuple(layouts), isinstance(value, Tensor))


def _whole(rows: Tensor | Mapped) -> Tensor:
    return rows.rows if isinstance(rows, Mapped) else rows


def _same(part: Tensor, batch: Tensor) -> bool:
    """Whether a value is a batch's memory, all of it, example by example."""
    if strides_of(part) is None or part.dtype != batch.dtype:
        return False
    where = part.data_ptr(), part.numel(), part.stride(0)
    return where == (batch.data_ptr(), batch.numel(), batch.stride(0))


@torch.no_grad()
def _steady(prefix: Prefix, x: Inputs, size: int) -> bool:
    """Whether an example's value has the same bits at every place in a batch, on many batches.

    One batch would not do: where little is summed up, the bits often agree by luck.
    """
    every = torch.arange(min(_WATCHED * size, len(x)), device=x.x.device)
    for _, _, batch in x.batches(every, size):
        before = [part.clone() for part in tensors(prefix(batch.clone()))]
        for shift in _SHIFTS:
            after = tensors(prefix(batch.roll(shift, 0)))
            if not all(map(torch.equal, after, (part.roll(shift, 0) for part in before))):
                return False
    return True
