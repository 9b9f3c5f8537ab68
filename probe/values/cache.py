"""Caches of the values of prefixes, in memory or in a file, or computed again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from probe.batch import Rows, Value, first, mapped, tensors
from probe.cut.names import of_input
from probe.cut.split import Cut, passing_values, values_of
from probe.memory import MappedRows
from probe.modules import copied
from probe.training.memory_format import gains_pixelwise
from probe.training.precision import products
from probe.values.allocation import Allocation, CacheSettings, Storage, allocate
from probe.values.layout import (
    Inputs,
    PrefixCall,
    TensorLayout,
    ValueLayout,
    tensor_layout,
    value_layout,
)

_LEAST, _MOST = 32, 128  # examples of a batch that a prefix is given
_SHIFTS = (1, 2, 3, 5)  # of a batch, to see whether a value depends on its slot
_WATCHED = 16  # batches
_SEEN = 4  # examples


class ValueCache:
    """A cache of the values of one model's cuts, on one device.

    settings: None = the defaults; batch_size: of training. Prefixes are given batches of that size,
    within limits: smaller ones spend their time in calls, larger ones take memory.
    """

    def __init__(
        self, settings: CacheSettings | None, batch_size: int, device: torch.device
    ) -> None:
        self._settings = (settings or CacheSettings()).settled(device)
        self._size = min(max(batch_size, _LEAST), _MOST)
        self._pixelwise: bool | None = None  # found out once: training and test data are alike

    def plan(self, cuts: Sequence[Cut], sizes: tuple[int, int]) -> tuple[Allocation, ...]:
        """Return the location of each cut's values; nothing is computed.

        sizes: the numbers of training and test examples.
        """
        # At the model's output nothing is trained: no training example is needed.
        counts = {cut.name: sum(sizes) if cut.trainable else sizes[1] for cut in cuts}
        each = {cut.name: _size(cut, self._settings.storage) * counts[cut.name] for cut in cuts}
        work = {cut.name: cut.feature.visit.work for cut in cuts}
        return allocate(each, work, self._settings)

    def rows(self, cuts: Sequence[Cut], plan: Sequence[Allocation], x: Value) -> dict[str, Rows]:
        """Return every cut's values for all inputs x (N, ...), by feature, stored as planned.

        All stored values are computed in one pass over the inputs.
        """
        if self._pixelwise is None and cuts:
            trace = cuts[0].feature.trace
            model, few = copied(trace.model), first(trace.sample, _SEEN)
            with products("fp32"), torch.autocast(tensors(few)[0].device.type, enabled=False):
                self._pixelwise = gains_pixelwise(model, partial(trace.call, model), few)
        inputs = Inputs(x, bool(self._pixelwise))
        few = torch.arange(min(_SEEN, len(inputs)), device=inputs.device)
        seen = values_of(cuts, next(inputs.batches(few, _SEEN))[2])
        locations = {each.feature: each.location for each in plan}
        rows: dict[str, Rows] = {}
        kept: dict[str, CachedRows] = {}
        for cut in cuts:
            name, location = cut.name, locations[cut.name]
            layout = value_layout(seen[name], _given(cut, inputs), self._settings.storage)
            if location == "recomputed":
                rows[name] = RecomputedRows(layout, partial(_value_of, cut), inputs, self._size)
            else:
                scratch = self._settings.scratch if location == "memory-mapped" else None
                rows[name] = cached = CachedRows(layout, inputs, scratch)
                # A value that is the input itself needs no pass to be filled.
                if layout.size:
                    kept[name] = cached
        if kept:
            filled = [cut for cut in cuts if cut.name in kept]
            fill(kept, partial(passing_values, filled), inputs, self._size)
        return rows


def _value_of(cut: Cut, batch: Value) -> Value:
    return values_of([cut], batch)[cut.name]


def _given(cut: Cut, inputs: Inputs) -> list[TensorLayout | None]:
    """Return for each kept tensor its layout as one of the inputs, None if it is none."""
    if cut.plan is None:
        return list(inputs.layouts)
    return [inputs.layouts[name[1]] if of_input(name) else None for name in cut.plan.kept]


def _size(cut: Cut, storage: Storage) -> int:
    """Return the bytes of an example's value, as the cut's plan says; the input takes none."""
    if cut.plan is None:
        return 0
    shapes = [cut.plan.shapes[name] for name in cut.plan.kept if not of_input(name)]
    metas = [torch.empty(each.at(1)[0], dtype=each.seen.dtype, device="meta") for each in shapes]
    return sum(meta.numel() * tensor_layout(meta, storage).stored.itemsize for meta in metas)


class CachedRows:
    """Values in memory, or in a memory-mapped file where a scratch folder is given.

    Tensors of the input itself are not copied.
    """

    def __init__(self, layout: ValueLayout, inputs: Inputs, scratch: Path | None) -> None:
        self._layout, self._n, self._device = layout, len(inputs), inputs.device
        self._rows = [
            self._empty(part, scratch) if part.given is None else inputs.rows[part.given]
            for part in layout.parts
        ]

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, indices: Tensor) -> Value:
        """Return the values of the examples at `indices` (B,), each tensor (B, ...)."""
        gathered = (
            rows.gather(indices) if isinstance(rows, MappedRows) else rows.index_select(0, indices)
            for rows in self._rows
        )
        return self._layout.value(list(gathered))

    def put(self, value: Value, where: slice) -> None:
        """Keep the first examples of a batch as the rows from `where.start` to `where.stop`."""
        rows = [own.rows if isinstance(own, MappedRows) else own for own in self._rows]
        parts = zip(self._layout.parts, rows, strict=True)
        own = [to[where] if part.given is None else None for part, to in parts]
        self._layout.write(value, own)
        # Pages that were written to count as this process's memory until they are let go.
        for own_rows in self._rows:
            if isinstance(own_rows, MappedRows):
                own_rows.let_go()

    def _empty(self, part: TensorLayout, scratch: Path | None) -> Tensor | MappedRows:
        """Return memory or a file for N examples of a part, (N, D)."""
        if scratch is not None:
            return MappedRows(scratch, self._n, part.width, part.stored)
        if self._device.type == "cpu":
            # From numpy, which asks for large pages: to touch new memory takes half the time.
            bytes_ = np.empty(self._n * part.width * part.stored.itemsize, np.uint8)
            return torch.from_numpy(bytes_).view(part.stored).view(self._n, part.width)
        return torch.empty((self._n, part.width), dtype=part.stored, device=self._device)


class RecomputedRows:
    """Values recomputed from the inputs on every request, bit for bit the same.

    The last bits of a matrix product or a convolution depend on the batch size, which is therefore
    always the one used to fill caches. With some kernels they also depend on the slot in the batch.
    If this is observed for the prefix, every example is computed at the slot that it has when a
    cache is filled, which takes several passes.
    """

    def __init__(
        self, layout: ValueLayout, prefix: PrefixCall, inputs: Inputs, batch_size: int
    ) -> None:
        self._layout, self._prefix, self._inputs, self._size = layout, prefix, inputs, batch_size
        # Own slots cost more batches, so that they are kept to only where it shows.
        self._own = not _same_at_every_slot(prefix, inputs, batch_size)

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, indices: Tensor) -> Value:
        """Return the values of the examples at `indices` (B,), each tensor (B, ...)."""
        device = self._inputs.device
        rows = [
            torch.empty((len(indices), part.width), dtype=part.stored, device=device)
            for part in self._layout.parts
        ]
        # Whoever trains the tail in reduced precision gets the values that a cache would give.
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            for positions, slots, batch in self._inputs.batches(indices, self._size, self._own):
                self._layout.write(self._prefix(batch), rows, (positions, slots))
        return self._layout.value(rows)


@torch.no_grad()
def fill(
    caches: Mapping[str, CachedRows],
    values: Callable[[Iterable[Value]], Iterable[tuple[int, str, Value]]],
    inputs: Inputs,
    batch_size: int,
) -> None:
    """Fill all caches in one pass over the inputs, each batch of the same size.

    values: gives for each batch (B, ...) its number, and every cache's name with its value.
    """
    every = torch.arange(len(inputs), device=inputs.device)
    batches = (batch for *_, batch in inputs.batches(every, batch_size))
    for number, name, value in values(batches):
        caches[name].put(value, slice(number * batch_size, (number + 1) * batch_size))


@torch.no_grad()
def _same_at_every_slot(prefix: PrefixCall, inputs: Inputs, batch_size: int) -> bool:
    """Return whether an example's value has the same bits at every slot of many batches.

    With one batch the bits often agree by chance.
    """
    some = torch.arange(min(_WATCHED * batch_size, len(inputs)), device=inputs.device)
    for _, _, batch in inputs.batches(some, batch_size):
        before = [part.clone() for part in tensors(prefix(mapped(batch, torch.clone)))]
        for shift in _SHIFTS:
            after = tensors(prefix(mapped(batch, partial(torch.roll, shifts=shift, dims=0))))
            if not all(map(torch.equal, after, (part.roll(shift, 0) for part in before))):
                return False
    return True
