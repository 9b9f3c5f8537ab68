"""Layouts of an example's value as a row of numbers: flattened, or averaged where it is wide."""

from dataclasses import dataclass
from math import prod
from typing import Literal

from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

WIDE = 512
"""Numbers of an example's value up to which it is flattened, not averaged over positions."""

Kind = Literal["flattened", "channels first", "channels last", "sequence"]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The layout of one tensor of an example's value, of this shape, as `width` numbers.

    - kind: its dimensions: (C, positions ...), (H, W, C) or (T, D), if not flattened;
    - grid: the positions that remain of H x W; (1, 1) where all are averaged.
    """

    shape: tuple[int, ...]
    kind: Kind
    grid: tuple[int, int] = (1, 1)

    @property
    def width(self) -> int:
        """D, the numbers of a row."""
        if self.kind == "flattened":
            return prod(self.shape)
        return self._units * prod(self.grid)

    @property
    def how(self) -> str:
        """A description in a few words."""
        if self.kind == "flattened":
            return f"flattened, {self.width} values"
        positions = " x ".join(map(str, self._positions))
        units = "units" if self.kind == "sequence" else "channels"
        left = "" if self.grid == (1, 1) else f" to {self.grid[0]} x {self.grid[1]}"
        averaged = f"{self._units} {units} averaged over {positions} positions{left}"
        return f"{averaged}, {self.width} values"

    def rows(self, value: Tensor) -> Tensor:
        """Return values (B, *shape) as float32 rows (B, D), which may be a view of them."""
        value = value.float()
        if self.kind == "flattened":
            return value.reshape(len(value), self.width)
        if self.kind == "sequence":
            return value.mean(1)
        if self.kind == "channels last":
            value = value.movedim(-1, 1)
        if self.grid != (1, 1):
            return adaptive_avg_pool2d(value, self.grid).flatten(1)
        return value.flatten(2).mean(2)

    @property
    def _units(self) -> int:
        return self.shape[0] if self.kind == "channels first" else self.shape[-1]

    @property
    def _positions(self) -> tuple[int, ...]:
        return self.shape[1:] if self.kind == "channels first" else self.shape[:-1]


def layout_of(shape: tuple[int, ...], wide: int = WIDE) -> Layout:
    """Decide by an example's shape alone how its value becomes a row of numbers.

    Up to `wide` numbers are flattened, and so is any single dimension. A map (C, H, W), or
    (H, W, C) where the first two sizes alone are equal, is averaged to the largest grid, square as
    far as the map reaches, with which the row has at most `wide` numbers, or to a single position.
    Of a sequence (T, D) the mean over T is taken, and of (C, ...) with more dimensions that over
    all but the first.

    >>> layout_of((32, 14, 14)).how
    '32 channels averaged over 14 x 14 positions to 4 x 4, 512 values'
    >>> layout_of((7, 7, 768)).how, layout_of((65, 192)).how
    ('768 channels averaged over 7 x 7 positions, 768 values', \
'192 units averaged over 65 positions, 192 values')
    """
    if prod(shape) <= wide or len(shape) < 2:
        return Layout(shape=shape, kind="flattened")
    if len(shape) == 2:
        return Layout(shape=shape, kind="sequence")
    if len(shape) > 3:
        return Layout(shape=shape, kind="channels first")
    first, second, third = shape
    if first == second != third:
        grid = _grid(third, (first, second), wide)
        return Layout(shape=shape, kind="channels last", grid=grid)
    return Layout(shape=shape, kind="channels first", grid=_grid(first, (second, third), wide))


def _grid(channels: int, sides: tuple[int, int], wide: int) -> tuple[int, int]:
    """Return the largest g x g, each side no longer than the map's, with at most `wide` numbers."""
    best = (1, 1)
    for side in range(2, max(sides) + 1):
        grid = (min(side, sides[0]), min(side, sides[1]))
        if channels * prod(grid) > wide:
            break
        best = grid
    return best
