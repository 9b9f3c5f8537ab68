"""What one example's value looks like in memory, so that a row of bytes can stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.errors import InputError
from probe.examples import Value, tensors
from probe.values.placement import Storage


@dataclass(frozen=True, kw_only=True)
class Layout:
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
        """Elements per example."""
        return int(torch.Size(self.shape).numel())

    def shaped(self, rows: Tensor) -> Tensor:
        """Return rows (N, width) as (N, *shape), a view of the same memory."""
        return rows.as_strided((len(rows), *self.shape), (rows.stride(0), *self.strides))


@dataclass(frozen=True)
class Form:
    """All of an example's value: one tensor (single) or a tuple of them."""

    parts: tuple[Layout, ...]
    single: bool

    @property
    def size(self) -> int:
        """Bytes to keep per example."""
        return sum(part.width * part.stored.itemsize for part in self.parts if not part.given)

    def write(
        self, value: Value, rows: Sequence[Tensor | None], places: Tensor, slots: Tensor
    ) -> None:
        """Copy the examples at `slots` of a value to `places` of each part's rows.

        A part without rows is left out. Raises InputError if the value has another shape.
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
                part.shaped(to).index_copy_(0, places.to(to.device), chosen)

    def value(self, rows: Sequence[Tensor]) -> Value:
        """Return the value that each part's rows (N, width), as stored, stand for."""
        shaped = (
            part.shaped(flat.to(part.dtype)) for part, flat in zip(self.parts, rows, strict=True)
        )
        return next(shaped) if self.single else tuple(shaped)


def layout_of(part: Tensor, storage: Storage, given: bool) -> Layout:
    """Return the layout of one tensor (B, ...) of a batch's value, contiguous if it has gaps."""
    shape = tuple(part.shape[1:])
    narrow = storage == "bf16" and part.is_floating_point() and not given
    return Layout(
        shape=shape,
        strides=strides_of(part) or torch.empty(shape, device="meta").stride(),
        dtype=part.dtype,
        stored=torch.bfloat16 if narrow else part.dtype,
        given=given,
    )


def strides_of(rows: Tensor) -> tuple[int, ...] | None:
    """Return one example's strides if each of (N, ...) lies in memory without gaps, else None."""
    expected = 1
    for stride, size in sorted(zip(rows.stride()[1:], rows.shape[1:], strict=True)):
        if size > 1 and stride != expected:
            return None
        expected *= size
    return rows.stride()[1:]
