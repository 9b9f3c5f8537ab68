"""Memory layouts of inputs and values: a row of bytes for each example."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.arrays import Storage
from probe.batch import Value, first, like, tensors
from probe.errors import InputError

PrefixCall = Callable[[Value], Value]
"""A prefix, called: it maps a batch of inputs (B, ...) to their values, each tensor (B, ...)."""


@dataclass(frozen=True)
class TensorLayout:
    """One tensor of an example's value.

    Attributes:
        shape: The shape of the tensor.
        strides: The strides in elements, which keep channels-last images channels-last.
        dtype: The data type that is returned.
        stored: The data type that is stored.
        input_index: Index of the tensor in the model's input if it is an unchanged
            input, else None.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    stored: torch.dtype
    input_index: int | None = None

    @property
    def width(self) -> int:
        """The number of elements per example D."""
        return math.prod(self.shape)

    def shaped(self, rows: Tensor) -> Tensor:
        """Return rows (N, D) as (N, *shape), a view of the same memory."""
        return rows.as_strided(
            (len(rows), *self.shape), (rows.stride(0), *self.strides)
        )


@dataclass(frozen=True)
class ValueLayout:
    """The layout of an example's whole value: its tensors, in the structure of `form`."""

    parts: tuple[TensorLayout, ...]
    form: Value

    @property
    def size(self) -> int:
        """Bytes stored per example; the input itself takes none."""
        stored = (part for part in self.parts if part.input_index is None)
        return sum(part.width * part.stored.itemsize for part in stored)

    def write(
        self,
        value: Value,
        rows: Sequence[Tensor | None],
        at: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        """Copy the first n examples of a batch to n rows.

        Args:
            value: The batch, each tensor (B, *shape), B at least n.
            rows: The rows (n, D) for each part; a part with None is left out.
            at: Positions and slots, both (k,), to copy the examples at these slots of
                the batch to the rows at these positions instead.

        Raises:
            InputError: The shape of the value is not that of this layout.
        """
        shapes = [tuple(tensor.shape[1:]) for tensor in tensors(value)]
        if shapes != (expected := [part.shape for part in self.parts]):
            raise InputError(
                f"a feature's shape depends on the batch, {expected}, then {shapes}: "
                "use another"
            )
        for part, tensor, to in zip(self.parts, tensors(value), rows, strict=True):
            if to is None:
                continue
            target = part.shaped(to)
            if at is None:
                target.copy_(tensor[: len(to)])
            else:
                positions, slots = at
                chosen = tensor.index_select(0, slots).to(to.device, part.stored)
                target.index_copy_(0, positions.to(to.device), chosen)

    def value(self, rows: Sequence[Tensor]) -> Value:
        """Return the value, each tensor (N, *shape), from the rows (N, D) of its parts."""
        pairs = zip(self.parts, rows, strict=True)
        values = [part.shaped(flat.to(part.dtype)) for part, flat in pairs]
        return like(self.form, values)


class Inputs:
    """A model's inputs by index, one or more tensors (N, ...).

    Each batch has their memory layout. `rows` is the memory of each tensor as (N, D); a
    tensor is copied if its examples are not contiguous.
    """

    def __init__(self, x: Value) -> None:
        self.form = first(x, 0)
        self.rows = list[Tensor]()
        self.layouts: dict[int | None, TensorLayout] = {}
        for index, tensor in enumerate(tensors(x)):
            # A batch is gathered row by row: each example must be one run of memory.
            D = tensor[:1].numel()
            if not _strides(tensor) or tensor.stride(0) != D:
                tensor = tensor.contiguous()
            self.rows.append(tensor.as_strided((len(tensor), D), (D, 1)))
            self.layouts[index] = tensor_layout(tensor, "fp32", input_index=index)
        self.device = self.rows[0].device

    def __len__(self) -> int:
        return len(self.rows[0])

    def __getitem__(self, indices: Tensor) -> Value:
        """Return the inputs (B, ...) at `indices` (B,), in memory of their own."""
        pairs = zip(self.layouts.values(), self.rows, strict=True)
        values = [part.shaped(rows.index_select(0, indices)) for part, rows in pairs]
        return like(self.form, values)

    def batches(
        self,
        indices: Tensor,
        size: int,
        own_slots: bool = False,
    ) -> Iterator[tuple[Tensor, Tensor, Value]]:
        """Yield batches of exactly `size` inputs until all at `indices` have been yielded.

        Each batch (size, ...) comes with positions and slots, both (k,): the example at
        indices[positions] is at batch[slots]. Unused slots are filled with example 0.

        Args:
            indices: The examples, (n,).
            size: The batch size.
            own_slots: Whether example i is always at slot i % size; this may take more
                batches.

        Yields:
            Positions, slots and batch.
        """
        numbers = torch.arange(len(indices), device=indices.device)
        rounds = iter(numbers.split(size))
        if own_slots:
            rounds = _rounds(indices % size)
        for positions in rounds:
            examples = indices[positions]
            slots = numbers[: len(examples)]
            if own_slots:
                slots = examples % size
            # The last bits of a value depend on the batch's size: a short batch is
            # filled up.
            padded = examples.new_zeros(size)
            padded[slots] = examples
            yield positions, slots, self[padded]


def value_layout(
    value: Value,
    input_layouts: Sequence[TensorLayout | None],
    storage: Storage,
) -> ValueLayout:
    """Return the layout in which values like this batch's are stored.

    Args:
        value: The batch, each tensor (B, ...).
        input_layouts: The layout in the inputs of each tensor that is an unchanged
            input, which is read from there; None for other tensors.
        storage: The precision in which the other tensors are stored.

    Returns:
        The layout.
    """
    pairs = zip(tensors(value), input_layouts, strict=True)
    layouts = (of_input or tensor_layout(part, storage) for part, of_input in pairs)
    return ValueLayout(tuple(layouts), value)


def tensor_layout(
    part: Tensor,
    storage: Storage,
    input_index: int | None = None,
) -> TensorLayout:
    """Return the layout of one tensor (B, ...) of a batch's value, contiguous if it has gaps.

    Args:
        part: The tensor.
        storage: The precision in which it is stored.
        input_index: Index of the tensor in the model's input, None if it is not an
            input.

    Returns:
        The layout.
    """
    shape = tuple(part.shape[1:])
    strides = _strides(part) or torch.empty(shape, device="meta").stride()
    stored = part.dtype
    if input_index is None:
        stored = stored_type(part.dtype, storage)
    return TensorLayout(shape, strides, part.dtype, stored, input_index)


def stored_type(dtype: torch.dtype, storage: Storage) -> torch.dtype:
    """Return the type in which values are stored.

    Args:
        dtype: The data type of the values.
        storage: The precision of storage.

    Returns:
        The type.
    """
    return torch.bfloat16 if storage == "bf16" and dtype.is_floating_point else dtype


def _strides(rows: Tensor) -> tuple[int, ...] | None:
    """Return one example's strides if each of (N, ...) lies in memory without gaps, else None."""
    expected = 1
    for stride, size in sorted(zip(rows.stride()[1:], rows.shape[1:], strict=True)):
        if size > 1 and stride != expected:
            return None
        expected *= size
    return rows.stride()[1:]


def _rounds(slots: Tensor) -> Iterator[Tensor]:
    """Yield rounds of positions (k,) in `slots` (n,), with every slot at most once in a round.

    Each position is in one round: the first has the first position of each slot.
    """
    waiting = torch.arange(len(slots), device=slots.device)
    while len(waiting):
        ordered, order = slots[waiting].sort(stable=True)
        first = torch.ones_like(ordered, dtype=torch.bool)
        first[1:] = ordered[1:] != ordered[:-1]
        yield waiting[order[first]]
        waiting = waiting[order[~first]]
