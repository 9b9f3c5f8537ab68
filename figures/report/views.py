"""Views of a report: heat maps, charts and tables, as texts and numbers for a template.

Every number that is drawn stands in the `table` of its view, too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from probe.tables.sheets import Sheet

_STEPS = (0.5, 1, 2, 5, 10, 20, 50)  # points of accuracy: borders between the colors
_TICKS = 4


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a heat map.

    tone: of its color, from -7 (purple) to 7 (orange), 0 = white, None = empty; weak: whether its
    interval holds 0; barred: whether nothing is stated of it; tip: all that is known of it.
    """

    text: str = ""
    tone: int | None = None
    weak: bool = False
    barred: bool = False
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Rows by columns of cells; down, across: the titles of both."""

    kind: ClassVar[str] = "heat"
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    down: str
    across: str

    @property
    def table(self) -> Sheet:
        """The cells as texts."""
        lines = [(name, *(cell.tip or cell.text for cell in own)) for name, own in self._named]
        return Sheet(title="", columns=[f"{self.down} / {self.across}", *self.columns], lines=lines)

    @property
    def _named(self) -> Iterable[tuple[str, Sequence[Cell]]]:
        return zip(self.rows, self.cells, strict=True)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A value at x with its interval; low, high: NaN = none."""

    x: float
    value: float
    low: float = math.nan
    high: float = math.nan
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one name, in the order in which they are joined."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Series over a common axis; joined: by lines, else as points with intervals.

    across, up: the titles of the axes; names: of whole numbers on the x axis, from 1.
    """

    kind: ClassVar[str] = "chart"
    series: Sequence[Series]
    across: str
    up: str
    names: Sequence[str] = ()
    joined: bool = True

    @property
    def x(self) -> "Axis":
        """The horizontal axis."""
        if self.names:
            return Axis(low=0.5, high=len(self.names) + 0.5, ticks=range(1, len(self.names) + 1))
        return axis(point.x for one in self.series for point in one.points)

    @property
    def y(self) -> "Axis":
        """The vertical axis, with 0 and all intervals on it."""
        each = (point for one in self.series for point in one.points)
        return axis([0.0, *(x for p in each for x in (p.value, p.low, p.high))])

    @property
    def table(self) -> Sheet:
        """A line for each point."""
        lines = [
            (one.name, self.names[int(p.x) - 1] if self.names else f"{p.x:g}", p.tip)
            for one in self.series
            for p in one.points
        ]
        return Sheet(title="", columns=["", self.across, self.up], lines=lines)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The range of an axis, and the numbers on it."""

    low: float
    high: float
    ticks: Sequence[float]

    def at(self, value: float) -> float:
        """Return the place of a value, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def axis(values: Iterable[float]) -> Axis:
    """Return an axis on which all values have room, with a few round numbers.

    >>> axis([0, 0.97]).ticks
    [0.0, 0.5, 1.0]
    """
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    least, most = min(known), max(known)
    rough = (most - least or 1) / _TICKS
    ten = 10 ** math.floor(math.log10(rough))
    step = next(s * ten for s in (1, 2, 5, 10) if s * ten >= rough)
    first, last = math.floor(least / step), math.ceil(most / step)
    last = max(last, first + 1)
    ticks = [round(k * step, 10) for k in range(first, last + 1)]
    return Axis(low=ticks[0], high=ticks[-1], ticks=ticks)


def tone(value: float) -> int | None:
    """Return the tone of a difference in accuracy, a fraction: the borders passed, with its sign.

    >>> tone(0.03), tone(-0.3), tone(0.001), tone(float("nan"))
    (3, -6, 0, None)
    """
    if math.isnan(value):
        return None
    passed = sum(100 * abs(value) >= step for step in _STEPS)
    return passed if value > 0 else -passed


def by(rows: Iterable[Any], *names: str) -> Mapping[tuple[Any, ...], list[Any]]:
    """Return rows by the values of some columns, in order of first appearance."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return found
