"""The shape of a tensor at any batch size, and the dimension along which its examples lie."""

from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import torch
from torch import Tensor

from probe.errors import InputError
from probe.modules import innermost

Axis = Literal["first", "last"]
"""`first`: (B, C, positions ...), as of convolutions; `last`: (B, positions ..., C), as
of linear layers. The dimension of the examples B may be another one, see
`TensorFacts.dim`."""


def unusual(tensor: Tensor) -> str:
    """Return why a tensor's rows cannot be cached, empty if they may be."""
    if innermost(tensor) is not tensor:
        return "is computed within a transform of torch.func"
    if tensor.is_nested:
        return "is nested"
    return "" if tensor.layout is torch.strided else "is sparse"


@dataclass(frozen=True)
class TensorFacts:
    """A tensor of a forward pass: its shape at one batch size, and at any other size B.

    Attributes:
        shape: The sizes of the dimensions, () for a nested tensor.
        stride: The strides, in elements.
        dtype: The data type.
        unusual: The reason why the value cannot be cached, empty if it may be.
        per: The factor k of each dimension whose size is k times B, 0 if it does not
            depend on B.
        axis: The axis of the channels, None if no layer determines it.
        input_index: The index of the model's input that this tensor is, None if it is
            no input.
        read: The positions of a sequence (L, C) that the network's head reads, or
            "last" for one that differs between examples; empty if it reads all, or this
            is no sequence.
        padding: The input that tells which positions of a sequence count, as a
            `probe.cut.model_call.PositionMask`; "unknown" if none does although examples
            differ in this; None if they do not.

    >>> large, small = (TensorFacts.of(torch.empty(5, 2 * b, 3)) for b in (4, 2))
    >>> shape = large.compared(small, 4)  # 2 entries of dimension 1 per example
    >>> shape.per, shape.dim, shape.at(10)[0]
    ((0, 2, 0), 1, (5, 20, 3))
    >>> tuple(shape.to_rows(torch.empty(5, 20, 3)).shape)
    (10, 2, 5, 3)
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    unusual: str = ""
    per: tuple[int, ...] = ()
    axis: Axis | None = None
    input_index: int | None = None
    read: tuple[int, ...] | Literal["last"] = ()
    padding: tuple[int, int, int] | Literal["unknown"] | None = None

    @classmethod
    def of(cls, tensor: Tensor) -> "TensorFacts":
        """Describe a tensor at its own batch size."""
        sizes = ((), ()) if tensor.is_nested else (tuple(tensor.shape), tensor.stride())
        return cls(*sizes, tensor.dtype, unusual(tensor))

    def compared(self, small: "TensorFacts", batch: int) -> "TensorFacts":
        """Return the shape with the dimensions that grow with the batch.

        Args:
            small: Facts about the same value in a smaller batch.
            batch: The number of examples in the batch of this tensor.
        """
        sizes = zip(self.shape, small.shape, strict=True)
        return replace(self, per=tuple(0 if a == b else a // batch for a, b in sizes))

    @property
    def bytes(self) -> int:
        """The bytes of the values."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def dim(self) -> int | None:
        """The dimension that grows with the batch; None if there is none, or more than one.

        The value can be split into examples only along such a dimension.
        """
        growing = [dim for dim, per in enumerate(self.per) if per]
        return growing[0] if len(growing) == 1 and not self.unusual else None

    @property
    def example(self) -> tuple[int, ...]:
        """The shape of one example's entries, or the whole shape if no single dimension grows."""
        if self.dim is None:
            return self.shape
        per = self.per[self.dim]
        rest = (*self.shape[: self.dim], *self.shape[self.dim + 1 :])
        return rest if per == 1 else (per, *rest)

    def channel_dim(self, axis: Axis | None) -> int | None:
        """Return the dimension of the channels in a single example.

        Args:
            axis: The channels' axis in the whole tensor, `first` or `last`, None if it
                is unknown.

        Returns:
            The dimension, None if it is unknown.
        """
        dim = 1 if axis == "first" else len(self.shape) - 1
        if axis is None or self.dim is None or dim == self.dim:
            return None
        # Without the examples; but the k entries of an example in (k B, ...) come
        # first.
        return dim - (dim > self.dim) + (self.per[self.dim] > 1)

    def at(self, batch: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shape and strides of a dense tensor for a batch of this size.

        The dimensions keep their order in memory, so that channels-last stays
        channels-last: the model's code may check this.
        """
        sizes = zip(self.per, self.shape, strict=True)
        shape = tuple(per * batch if per else size for per, size in sizes)
        strides = [0] * len(shape)
        step = 1
        for dim in sorted(range(len(shape)), key=lambda dim: (self.stride[dim], -dim)):
            strides[dim] = step
            step *= shape[dim]
        return shape, tuple(strides)

    def to_rows(self, value: Tensor) -> Tensor:
        """Bring the examples to the front: (B, ...), whatever the tensor's own layout.

        If an example is k entries of the dimension that grows, it gives (B, k, ...).
        """
        dim = self.dim or 0
        rows = value.movedim(dim, 0)
        per = self.per[dim]
        if len(rows) % per:
            raise InputError(
                f"a value has {len(rows)} entries in a batch, not {per} for each "
                "example: choose a layer after which an example has as many as "
                "any other, such as one that pools"
            )
        return rows if per == 1 else rows.unflatten(0, (-1, per))

    def from_rows(self, rows: Tensor) -> Tensor:
        """Undo `to_rows`: give rows (B, ...) the shape that the model's own code expects."""
        dim = self.dim or 0
        value = rows if self.per[dim] == 1 else rows.flatten(0, 1)
        return value.movedim(0, dim)
