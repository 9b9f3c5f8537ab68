"""A model's inputs by index, in batches of one size."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from probe.values.layout import layout_of, strides_of


class Inputs:
    """A model's inputs x (N, ...) by index, each batch laid out as they are.

    rows: the same memory as (N, D); x is copied if its examples do not lie in one piece.
    """

    def __init__(self, x: Tensor) -> None:
        if strides_of(x) is None or x.stride(0) != x[:1].numel():
            x = x.contiguous()
        self.x = x
        self.rows = x.as_strided((len(x), x[:1].numel()), (x[:1].numel(), 1))
        self._layout = layout_of(x, "fp32", given=True)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, indices: Tensor) -> Tensor:
        return self._layout.shaped(self.rows.index_select(0, indices))

    def batches(
        self, indices: Tensor, size: int, own: bool = False
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield (places, slots, batch) until all is there: indices[places] are at batch[slots].

        A batch has always `size` examples; own: whether example i must be at slot i % size.
        """
        whole = torch.arange(len(indices), device=indices.device)
        for places in _rounds(indices % size) if own else whole.split(size):
            some = indices[places]
            slots = some % size if own else whole[: len(some)]
            padded = some.new_zeros(size)
            padded[slots] = some
            yield places, slots, self[padded]


def _rounds(slots: Tensor) -> Iterator[Tensor]:
    """Yield places, each once, such that no two of a round have the same slot."""
    left = torch.arange(len(slots), device=slots.device)
    while len(left):
        ordered, order = slots[left].sort(stable=True)
        first = torch.ones_like(ordered, dtype=torch.bool)
        first[1:] = ordered[1:] != ordered[:-1]
        yield left[order[first]]
        left = left[order[~first]]
