"""Caches of activations, the values that a prefix of a network gives.

They are kept in memory or in a file, or recomputed.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from probe.arrays import Storage
from probe.batch import Rows, Value, mapped, tensors
from probe.cut.cuts import Cuts
from probe.cut.interface import Cut, TensorFacts
from probe.memory import MappedRows
from probe.values.allocation import Allocation, CacheSettings, allocate
from probe.values.layout import (
    Inputs,
    PrefixCall,
    ValueLayout,
    stored_type,
    value_layout,
)

# Examples of a batch that a prefix is given.
_SMALLEST = 32
_LARGEST = 128
_SHIFTS = (1, 2, 3, 5)  # of a batch, to see whether a value depends on its slot
_WATCHED = 16  # batches
_FEW = 4  # examples, to see the layout of a value


def plan_values(
    cuts: Sequence[Cut],
    sizes: tuple[int, int],
    settings: CacheSettings,
) -> tuple[Allocation, ...]:
    """Return the location of each cut's values, without computing any.

    Args:
        cuts: The cuts.
        sizes: The numbers of training and test examples.
        settings: The limits, see `CacheSettings.settled`.

    Returns:
        The locations.
    """
    bytes_of_name = {}
    for cut in cuts:
        # At the model's output nothing is trained: no training example is needed.
        n = sizes[1]
        if cut.facts.trained:
            n += sizes[0]
        size = sum(_size(kept, settings.storage) for kept in cut.facts.kept)
        bytes_of_name[cut.facts.name] = n * size
    work = {cut.facts.name: cut.facts.work for cut in cuts}
    return allocate(bytes_of_name, work, settings)


def _size(kept: TensorFacts, storage: Storage) -> int:
    """Return the bytes of an example's tensor; the input itself takes none."""
    if kept.input_index is not None or kept.dim is None:
        return 0
    numbers = torch.Size(kept.at(1)[0]).numel()
    return numbers * stored_type(kept.dtype, storage).itemsize


def store_values(
    cuts: Sequence[Cut],
    plan: Sequence[Allocation],
    x: Value,
    settings: CacheSettings,
    size: int,
) -> dict[str, Rows]:
    """Return every cut's values for all inputs, stored as planned.

    One pass over the inputs computes all stored values. Prefixes run on batches of the
    training's batch size, within limits: smaller ones spend their time on overhead,
    larger ones need much memory.

    Args:
        cuts: The cuts.
        plan: The location of the values, see `plan_values`.
        x: The inputs, (N, ...).
        settings: The settings of the plan.
        size: The training's batch size.

    Returns:
        The values by feature.
    """
    inputs = Inputs(x)
    size = min(max(size, _SMALLEST), _LARGEST)
    locations = {allocation.feature: allocation.location for allocation in plan}
    rows: dict[str, Rows] = {}
    to_fill: dict[str, CachedRows] = {}
    numbers = torch.arange(len(inputs), device=inputs.device)
    for cut, layout in _layouts(cuts, inputs, numbers[:_FEW], settings.storage):
        name = cut.facts.name
        if locations[name] == "recomputed":
            rows[name] = RecomputedRows(layout, partial(_value_of, cut), inputs, size)
            continue
        scratch = settings.scratch if locations[name] == "memory-mapped" else None
        rows[name] = cached = CachedRows(layout, inputs, scratch)
        # A value that is the input itself needs no pass to be filled.
        if layout.size:
            to_fill[name] = cached
    if to_fill:
        batches = (batch for _, _, batch in inputs.batches(numbers, size))
        stored_cuts = Cuts(tuple(cut for cut in cuts if cut.facts.name in to_fill))
        for number, name, value in stored_cuts.values(batches):
            to_fill[name].put(value, slice(number * size, (number + 1) * size))
    return rows


def _layouts(
    cuts: Sequence[Cut],
    inputs: Inputs,
    few: Tensor,
    storage: Storage,
) -> Iterator[tuple[Cut, ValueLayout]]:
    """Yield each cut with the layout of its values, seen on a few examples (n,)."""
    batches = (batch for _, _, batch in inputs.batches(few, _FEW))
    values = Cuts(tuple(cuts)).values(batches)
    for cut, (_, _, value) in zip(cuts, values, strict=True):
        layouts = [inputs.layouts.get(kept.input_index) for kept in cut.facts.kept]
        yield cut, value_layout(value, layouts, storage)


@torch.no_grad()
def _value_of(cut: Cut, batch: Value) -> Value:
    """Return the value of a cut's prefix for one batch, each tensor (B, ...)."""
    [(_, _, value)] = Cuts((cut,)).values([batch])
    return value


class CachedRows:
    """Values in memory, or in a memory-mapped file where a scratch folder is given.

    Tensors of the input itself are not copied.
    """

    def __init__(
        self,
        layout: ValueLayout,
        inputs: Inputs,
        scratch: Path | None,
    ) -> None:
        self._layout = layout
        self._n = len(inputs)
        self._rows: list[Tensor | MappedRows] = []
        for part in layout.parts:
            shape = self._n, part.width
            if part.input_index is not None:
                self._rows.append(inputs.rows[part.input_index])
            elif scratch is not None:
                self._rows.append(MappedRows(scratch, *shape, part.stored))
            elif inputs.device.type == "cpu":
                # By numpy, which asks for large pages: to touch new memory takes half the
                # time.
                row_bytes = part.width * part.stored.itemsize
                pages = np.empty((self._n, row_bytes), np.uint8)
                self._rows.append(torch.from_numpy(pages).view(part.stored))
            else:
                memory = torch.empty(
                    shape,
                    dtype=part.stored,
                    device=inputs.device,
                )
                self._rows.append(memory)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, indices: Tensor) -> Value:
        """Return the values of the examples at `indices` (B,), each tensor (B, ...)."""
        return self._layout.value(
            [rows.index_select(0, indices) for rows in self._rows]
        )

    def put(self, value: Value, where: slice) -> None:
        """Store the first examples of a batch.

        Args:
            value: The batch.
            where: The rows that receive them, one for each example to store.
        """
        targets: list[Tensor | None] = []
        for part, rows in zip(self._layout.parts, self._rows, strict=True):
            if part.input_index is not None:
                targets.append(None)
            elif isinstance(rows, MappedRows):
                targets.append(rows.rows[where])
            else:
                targets.append(rows[where])
        self._layout.write(value, targets)
        # Pages of a file that were written to count as this process's memory until they
        # are let go.
        for rows in self._rows:
            if isinstance(rows, MappedRows):
                rows.let_go()


class RecomputedRows:
    """Values recomputed from the inputs on every request, bit for bit the same.

    The last bits of a matrix product or a convolution depend on the batch size, which
    is therefore always the one used to fill caches. With some kernels they also depend
    on the slot in the batch. If this is observed for the prefix, every example is
    computed at the slot that it has when a cache is filled, which takes several passes.
    """

    def __init__(
        self,
        layout: ValueLayout,
        prefix: PrefixCall,
        inputs: Inputs,
        size: int,
    ) -> None:
        self._layout = layout
        self._prefix = prefix
        self._inputs = inputs
        self._size = size
        # The slots of a filled cache cost more batches: only where the slot matters.
        self._own_slots = not _same_at_every_slot(prefix, inputs, size)

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, indices: Tensor) -> Value:
        """Return the values of the examples at `indices` (B,), each tensor (B, ...)."""
        rows = []
        for part in self._layout.parts:
            shape = len(indices), part.width
            memory = torch.empty(
                shape,
                dtype=part.stored,
                device=indices.device,
            )
            rows.append(memory)
        # A training of the tail in reduced precision, which runs this, gets the values
        # that a cache would give.
        with torch.no_grad(), torch.autocast(indices.device.type, enabled=False):
            batches = self._inputs.batches(indices, self._size, self._own_slots)
            for positions, slots, batch in batches:
                self._layout.write(self._prefix(batch), rows, (positions, slots))
        return self._layout.value(rows)


@torch.no_grad()
def _same_at_every_slot(
    prefix: PrefixCall,
    inputs: Inputs,
    batch_size: int,
) -> bool:
    """Return whether an example's value has the same bits at every slot of many batches.

    With one batch the bits often agree by chance.
    """
    few = torch.arange(min(_WATCHED * batch_size, len(inputs)), device=inputs.device)
    for _, _, batch in inputs.batches(few, batch_size):
        value = prefix(mapped(batch, torch.clone))
        before = [part.clone() for part in tensors(value)]
        for shift in _SHIFTS:
            shifted = mapped(batch, partial(torch.roll, shifts=shift, dims=0))
            expected = [part.roll(shift, 0) for part in before]
            if not all(map(torch.equal, tensors(prefix(shifted)), expected)):
                return False
    return True
