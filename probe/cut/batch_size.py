"""How the tensors of a forward pass grow with the batch, and where in them an example lies."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from probe.cut.trace import Form


@dataclass(frozen=True)
class Growth:
    """How a tensor's shape follows the batch size: size `per` times B along the dimensions `dims`.

    order: the dimensions from the outermost to the innermost in memory.
    """

    form: Form
    per: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, large: Form, small: Form, batches: tuple[int, int]) -> Growth:
        """Compare the forms of one value at two batch sizes."""
        grows = zip(large.shape, small.shape, strict=True)
        per = tuple(0 if a == b else a // batches[0] for a, b in grows)
        dims = range(len(large.shape))
        return cls(large, per, tuple(sorted(dims, key=lambda dim: (-large.stride[dim], dim))))

    @property
    def dim(self) -> int | None:
        """The one dimension that grows; None if there is none, or more than one."""
        growing = [dim for dim, per in enumerate(self.per) if per]
        return growing[0] if len(growing) == 1 else None

    def at(self, batch: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return shape and strides for a batch of that size, dense, dimensions ordered as here."""
        sizes = zip(self.per, self.form.shape, strict=True)
        shape = tuple(per * batch if per else size for per, size in sizes)
        strides, step = [0] * len(shape), 1
        for dim in reversed(self.order):
            strides[dim] = step
            step *= shape[dim]
        return shape, tuple(strides)

    def to_rows(self, value: Tensor) -> Tensor:
        """Bring the examples to the front: (B, ...), whatever the tensor's own layout."""
        dim = self.dim or 0
        value = value.movedim(dim, 0)
        per = self.per[dim]
        return value if per == 1 else value.unflatten(0, (-1, per))

    def from_rows(self, rows: Tensor) -> Tensor:
        """Undo `to_rows`."""
        dim = self.dim or 0
        value = rows if self.per[dim] == 1 else rows.flatten(0, 1)
        return value.movedim(0, dim)
