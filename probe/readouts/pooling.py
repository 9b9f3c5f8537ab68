"""Layouts of an example's value as a row of numbers: flattened, or pooled if it is wide."""

from functools import cached_property
from math import prod
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from probe.cut.interface import Axis
from probe.cut.model_call import last_kept
from probe.immutable import immutable
from probe.readouts import WIDE
from probe.seeding import permutation, stream

Pool = Literal["bins", "mean", "projection"]


@immutable
class Pooling:
    """The rule that turns a wide value into a row of numbers.

    Attributes:
        pool: The kind of pooling. `bins` averages over positions to the finest grid, as
            square as the positions allow, with at most `width` numbers in the row, or
            to a single position; `mean` averages over all positions; `projection` sums
            groups of values with random signs.
        width: The largest size of a value that is flattened, whatever `pool`.
        channels: The axis of channels if the module does not imply it, see
            `probe.cut.channels`.
    """

    pool: Pool = "bins"
    width: int = WIDE
    channels: Axis | None = None


@immutable
class Layout:
    """The layout of one tensor of an example's value as a row of `width` numbers.

    A tensor that is neither averaged nor projected is flattened.

    Attributes:
        shape: The shape of an example's tensor.
        channels: The dimension of the channels.
        bins: The number of positions left in each other dimension; empty if none is
            averaged.
        projected: The width of the projection, 0 for none.
        remark: A remark on the axis, in a few words.
        masked: Whether it is averaged over the positions that a mask keeps.
        read: The positions that the network's head reads; or "last", the last one that
            the mask keeps; empty = all. With as many bins they are side by side, else
            averaged.
    """

    shape: tuple[int, ...]
    channels: int = 0
    bins: tuple[int, ...] = ()
    projected: int = 0
    remark: str = ""
    masked: bool = False
    read: tuple[int, ...] | Literal["last"] = ()

    @property
    def width(self) -> int:
        """The length D of a row."""
        if self.bins:
            return self.shape[self.channels] * prod(self.bins)
        return self.projected or prod(self.shape)

    @property
    def description(self) -> str:
        """A description in a few words."""
        if self.projected:
            return (
                f"{_by(self.shape)} values{self.remark} projected at random, "
                f"{self.width} values"
            )
        if not self.bins:
            return f"flattened, {self.width} values"
        positions = _by(self.shape[: self.channels] + self.shape[self.channels + 1 :])
        if self.read:
            which = "the last"
            channels = f"{self.shape[self.channels]} channels"
            if self.read != "last":
                which = str(len(self.read))
                if self.bins == (1,) and len(self.read) > 1:
                    channels += " averaged"
            return f"{channels} at {which} of {positions} positions, as the head reads"
        if self.masked:
            positions = f"those that a mask keeps of {positions}"
        to_bins = ""
        if set(self.bins) != {1}:
            to_bins = f" to {_by(self.bins)}"
        channels = f"{self.shape[self.channels]} channels{self.remark}"
        return (
            f"{channels} averaged over {positions} positions{to_bins}, "
            f"{self.width} values"
        )

    def rows(self, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return values (B, *shape) as float32 rows (B, D), which may be a view of them.

        Args:
            value: The values.
            mask: The positions to average over if the layout is masked, (B, L) bool, of
                the last L.
        """
        value = value.float()
        if self.projected:
            # In a random order and with random signs, every group of `projected` numbers
            # is added to the row; zeros fill the last group.
            order, signs = (part.to(value.device) for part in self._projection)
            mixed = value.flatten(1)[:, order] * signs
            mixed = F.pad(mixed, (0, -len(order) % self.projected))
            return mixed.reshape(len(value), -1, self.projected).sum(1)
        if not self.bins:
            return value.reshape(len(value), self.width)
        value = value.movedim(1 + self.channels, 1)
        if self.read == "last" and mask is not None:
            examples = torch.arange(len(value), device=value.device)
            return value[examples, :, last_kept(mask)]
        if self.read and self.read != "last":
            values = value[:, :, list(self.read)]
            return values.mean(2) if self.bins == (1,) else values.flatten(1)
        if self.masked and mask is not None:
            return _masked_mean(value, mask)
        if set(self.bins) == {1}:
            return value.flatten(2).mean(2)
        return F.interpolate(value, self.bins, mode="area").flatten(1)

    @cached_property
    def _projection(self) -> tuple[Tensor, Tensor]:
        """The order and signs (n,) of the n numbers, the same for all networks and steps."""
        count = prod(self.shape)
        draws = stream(0, "projection", count, self.projected)
        order = permutation(count, draws)
        bits = torch.randint(0, 2, (count,), generator=draws, device="cpu")
        return order, bits.float() * 2 - 1


def _masked_mean(value: Tensor, mask: Tensor) -> Tensor:
    """Average a sequence (B, C, P) over the positions that a mask (B, L) keeps: (B, C).

    A network that shortens its sequence (P < L) gives a position for several of the
    mask: it counts if any of them does. One that lengthens it adds positions in front,
    which do not count.
    """
    positions = value.shape[2]
    if positions < mask.shape[1]:
        mask = F.adaptive_max_pool1d(mask.float(), positions) > 0
    mask = F.pad(mask, (positions - mask.shape[1], 0))
    masked = value.masked_fill(~mask[:, None], 0.0)
    return masked.sum(2) / mask.sum(1, keepdim=True).clamp(min=1)


def layout_of(
    shape: tuple[int, ...],
    channels: int | None,
    pooling: Pooling,
    remark: str = "",
) -> Layout:
    """Choose how an example's value becomes a vector.

    Up to `pooling.width` numbers are flattened. A wider value is pooled, or projected
    if the dimension of its channels is unknown. A single wide dimension has no
    positions to average over: it is flattened or projected.

    Args:
        shape: The shape of the value, without the batch.
        channels: The dimension of the channels, None = unknown.
        pooling: The settings.
        remark: A remark on the axis, for the description.

    Returns:
        The layout.

    >>> layout_of((32, 14, 14), 0, Pooling()).description
    '32 channels averaged over 14 x 14 positions to 4 x 4, 512 values'
    >>> layout_of((300, 32), 1, Pooling()).description
    '32 channels averaged over 300 positions to 16, 512 values'
    >>> layout_of((300, 32), None, Pooling()).description
    '300 x 32 values projected at random, 512 values'
    """
    projected = pooling.pool == "projection"
    if prod(shape) <= pooling.width or (len(shape) < 2 and not projected):
        return Layout(shape=shape)
    if projected or channels is None:
        remark = "" if projected else remark
        return Layout(shape=shape, projected=pooling.width, remark=remark)
    sides = shape[:channels] + shape[channels + 1 :]
    bins = (1,) * len(sides)
    largest = 1
    if pooling.pool == "bins" and len(sides) <= 3:  # as torch bins them
        largest = max(sides)
    for side in range(2, largest + 1):
        # The largest grid, each side no longer than the map's, with at most `width`
        # numbers.
        grid = tuple(min(side, length) for length in sides)
        if shape[channels] * prod(grid) > pooling.width:
            break
        bins = grid
    return Layout(
        shape=shape,
        channels=channels,
        bins=bins,
        remark=remark,
    )


def _by(sizes: tuple[int, ...]) -> str:
    """Return sizes as text, such as `14 x 14`."""
    return " x ".join(map(str, sizes))
