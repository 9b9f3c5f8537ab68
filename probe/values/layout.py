"""How inputs and values lie in memory, so that a row of bytes can stand for an example's value."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.errors import InputError
from probe.examples import Value, tensors
from probe.values.allocation import Storage

PrefixCall = Callable[[Tensor], Value]
"""A prefix, called: it maps a batch of inputs (B, ...) to their values, each tensor (B, ...)."""


@dataclass(frozen=True, kw_only=True)
class TensorLayout:
    """One tensor of an example's value.

    shape, strides: of one example, in elements, so that channels-last stays channels-last; dtype:
    as handed out; stored: as kept; given: whether it is the model's input itself, unchanged.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    stored: torch.dtype
    given: bool = False

    @property
    def width(self) -> int:
        """D, the number of elements per example."""
        return int(torch.Size(self.shape).numel())

    def shaped(self, rows: Tensor) -> Tensor:
        """Return rows (N, D) as (N, *shape), a view of the same memory."""
        return rows.as_strided((len(rows), *self.shape), (rows.stride(0), *self.strides))


@dataclass(frozen=True)
class ValueLayout:
    """All of an example's value: one tensor (single) or a tuple of them."""

    parts: tuple[TensorLayout, ...]
    single: bool

    @property
    def size(self) -> int:
        """Bytes to keep per example; the input itself takes none."""
        return sum(part.width * part.stored.itemsize for part in self.parts if not part.given)

    def write(
        self, value: Value, rows: Sequence[Tensor | None], positions: Tensor, slots: Tensor
    ) -> None:
        """Copy a batch's examples at `slots` (n,) to the rows at `positions` (n,).

        value: each tensor (B, *shape); rows: (N, D) for each part, None = the part is left out.
        Raises InputError if the value has another shape than this layout.
        """
        shapes = [tuple(tensor.shape[1:]) for tensor in tensors(value)]
        if shapes != [part.shape for part in self.parts]:
            raise InputError(
                f"a feature's value has shape {shapes} for one batch and "
                f"{[part.shape for part in self.parts]} for another: choose a feature whose shape "
                f"does not depend on the data"
            )
        for part, tensor, to in zip(self.parts, tensors(value), rows, strict=True):
            if to is not None:
                chosen = tensor.index_select(0, slots).to(to.device, part.stored)
                part.shaped(to).index_copy_(0, positions.to(to.device), chosen)

    def value(self, rows: Sequence[Tensor]) -> Value:
        """Return the value, each tensor (N, *shape), that the parts' rows (N, D) stand for."""
        shaped = (
            part.shaped(flat.to(part.dtype)) for part, flat in zip(self.parts, rows, strict=True)
        )
        return next(shaped) if self.single else tuple(shaped)


class Inputs:
    """A model's inputs x (N, ...) by number, each batch laid out in memory as they are.

    rows: the same memory as (N, D); x is copied if its examples do not lie in one piece.
    """

    def __init__(self, x: Tensor) -> None:
        # A batch is gathered row by row: each example must be one run of memory.
        if _strides(x) is None or x.stride(0) != x[:1].numel():
            x = x.contiguous()
        self.x = x
        self.rows = x.as_strided((len(x), x[:1].numel()), (x[:1].numel(), 1))
        self._layout = _tensor_layout(x, "fp32", given=True)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, indices: Tensor) -> Tensor:
        """Return the inputs (B, ...) at `indices` (B,), in memory of their own."""
        return self._layout.shaped(self.rows.index_select(0, indices))

    def batches(
        self, indices: Tensor, size: int, own: bool = False
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield batches of exactly `size` inputs until all at `indices` (n,) have been there.

        With each batch (size, ...) come positions and slots, both (k,): the example at
        indices[positions] is at batch[slots]; what is left of a batch is filled up with example 0.
        own: whether example i must always be at slot i % size; this may take more batches.
        """
        every = torch.arange(len(indices), device=indices.device)
        for positions in _rounds(indices % size) if own else every.split(size):
            some = indices[positions]
            slots = some % size if own else every[: len(some)]
            # The last bits of a value depend on the batch's size: a short batch is filled up.
            padded = some.new_zeros(size)
            padded[slots] = some
            yield positions, slots, self[padded]


@torch.no_grad()
def value_layout(prefix: PrefixCall, inputs: Inputs, size: int, storage: Storage) -> ValueLayout:
    """Return how a prefix's values lie in memory, seen on one batch of `size` inputs.

    storage: the precision in which they are kept. A part that is the batch itself, unchanged, needs
    not be kept: it is read from the inputs.
    """
    few = torch.arange(min(size, len(inputs)), device=inputs.x.device)
    _, _, batch = next(inputs.batches(few, size))
    before, version = batch.clone(), batch._version
    value = prefix(batch)
    # An in-place operation may write equal values today and others tomorrow: the version counts.
    untouched = batch._version == version and torch.equal(before, batch)
    parts = (
        _tensor_layout(part, storage, given=untouched and _is_memory_of(batch, part))
        for part in tensors(value)
    )
    return ValueLayout(tuple(parts), isinstance(value, Tensor))


def _tensor_layout(part: Tensor, storage: Storage, given: bool) -> TensorLayout:
    """Return the layout of one tensor (B, ...) of a batch's value, contiguous if it has gaps."""
    shape = tuple(part.shape[1:])
    narrow = storage == "bf16" and part.is_floating_point() and not given
    return TensorLayout(
        shape=shape,
        strides=_strides(part) or torch.empty(shape, device="meta").stride(),
        dtype=part.dtype,
        stored=torch.bfloat16 if narrow else part.dtype,
        given=given,
    )


def _strides(rows: Tensor) -> tuple[int, ...] | None:
    """Return one example's strides if each of (N, ...) lies in memory without gaps, else None."""
    expected = 1
    for stride, size in sorted(zip(rows.stride()[1:], rows.shape[1:], strict=True)):
        if size > 1 and stride != expected:
            return None
        expected *= size
    return rows.stride()[1:]


def _is_memory_of(batch: Tensor, part: Tensor) -> bool:
    """Whether a part of a value is a batch's memory, all of it, example by example."""
    if _strides(part) is None or part.dtype != batch.dtype:
        return False
    where = part.data_ptr(), part.numel(), part.stride(0)
    return where == (batch.data_ptr(), batch.numel(), batch.stride(0))


def _rounds(slots: Tensor) -> Iterator[Tensor]:
    """Yield positions of `slots` (n,), each once, such that no two of a round have one slot."""
    left = torch.arange(len(slots), device=slots.device)
    while len(left):
        ordered, order = slots[left].sort(stable=True)
        first = torch.ones_like(ordered, dtype=torch.bool)
        first[1:] = ordered[1:] != ordered[:-1]
        yield left[order[first]]
        left = left[order[~first]]
