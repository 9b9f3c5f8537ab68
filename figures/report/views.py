"""Views of a report: heat maps, charts and tables, as texts and numbers for a template.

Every number that is drawn stands in the `table` of its view, too.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

from figures.labels import shortened
from figures.report.section import interval
from probe.tables.rows import LayerRow
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points

_STEPS = (0.5, 1, 2, 5, 10, 20, 50)  # points of accuracy: borders between the colors
_TICKS = 4
_DRAWN = 8  # lines of a chart
_WIDTHS = (24, 32, 40)  # of names, in characters
_Item = TypeVar("_Item")


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

    @classmethod
    def missing(cls, value: float, tip: str, *, weak: bool = False, barred: bool = False) -> Self:
        """Return the cell of a difference in accuracy, empty for NaN."""
        if math.isnan(value):
            return cls()
        return cls(text=points(value), tone=tone(value), weak=weak, barred=barred, tip=tip)


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Rows by columns of cells; down, across: the titles of both; numbers: its table.

    Without one the table has the texts of the cells.
    """

    kind: ClassVar[str] = "heat"
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    down: str = "layer"
    across: str = "task position"
    numbers: Sheet | None = None

    @property
    def table(self) -> Sheet:
        """The cells as texts."""
        lines = [(n, *(c.text for c in own)) for n, own in zip(self.rows, self.cells, strict=True)]
        titles = [f"{self.down} / {self.across}", *self.columns]
        return self.numbers or Sheet(title="", columns=titles, lines=lines)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A value at x with its interval; low, high: NaN = none."""

    x: float
    value: float
    low: float = math.nan
    high: float = math.nan
    tip: str = ""

    @classmethod
    def of_layer(cls, x: float, row: LayerRow) -> Self:
        """Return a quantity of a layer in percent, with its interval."""
        value, low, high = (100 * end for end in (row.value, row.low, row.high))
        return cls(x=x, value=value, low=low, high=high, tip=interval(row))


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one name, in the order in which they are joined."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Series over a common axis, joined by lines.

    across, up: the titles of the axes; zero: whether 0 is on the axis of values; also: what else is
    on it; names: of whole numbers x, from 1: the points are then not joined, with x downwards.
    """

    series: Sequence[Series]
    across: str
    up: str
    names: Sequence[str] = ()
    zero: bool = True
    also: Sequence[float] = ()

    @property
    def kind(self) -> str:
        """The kind of view."""
        return "dots" if self.names else "chart"

    @property
    def drawn(self) -> Sequence[Series]:
        """The series that are drawn: of many some, evenly apart."""
        return evenly(self.series, _DRAWN)

    @property
    def x(self) -> "Axis":
        """The axis of x."""
        each = sorted({point.x for point in self._points})
        apart = _step(len(each) / (_TICKS + 2))
        ticks = [x for x in each if x == each[0] or x % apart == 0]
        return Axis(low=each[0], high=each[-1], ticks=ticks)

    @property
    def y(self) -> "Axis":
        """The axis of values, with all intervals on it."""
        values = [x for p in self._points for x in (p.value, p.low, p.high)]
        return axis([*values, *self.also, *([0.0] if self.zero else [])])

    @property
    def table(self) -> Sheet:
        """A line for each x, a column for each series."""
        at = [{round(p.x): p.tip for p in one.points} for one in self.series]
        every = sorted({x for own in at for x in own})
        titles = [self.names[x - 1] if self.names else str(x) for x in every]
        lines = [(n, *(o.get(x, "-") for o in at)) for n, x in zip(titles, every, strict=True)]
        columns = [self.across, *(one.name for one in self.series)]
        return Sheet(title="", columns=columns, lines=lines)

    @property
    def _points(self) -> Iterable[Point]:
        return (point for one in self.drawn for point in one.points)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The range of an axis, and the numbers on it."""

    low: float
    high: float
    ticks: Sequence[float]

    def at(self, value: float) -> float:
        """Return the place of a value, from 0 to 1."""
        return (value - self.low) / (self.high - self.low or 1)


def axis(values: Iterable[float]) -> Axis:
    """Return an axis on which all values have room, with a few round numbers.

    >>> axis([0, 0.97]).ticks
    [0.0, 0.5, 1.0]
    """
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    least, most = min(known), max(known)
    tasks_seen = _step((most - least or 1) / _TICKS)
    first, last = math.floor(least / tasks_seen), math.ceil(most / tasks_seen)
    last = max(last, first + 1)
    ticks = [round(k * tasks_seen, 10) for k in range(first, last + 1)]
    return Axis(low=ticks[0], high=ticks[-1], ticks=ticks)


def _step(least: float) -> float:
    """Return a round number that is not below a number."""
    ten = 10.0 ** math.floor(math.log10(least))
    return next(s * ten for s in (1, 2, 5, 10) if s * ten >= least)


def tone(value: float) -> int | None:
    """Return the tone of a difference in accuracy, a fraction: the borders passed, with its sign.

    >>> tone(0.03), tone(-0.3), tone(0.001), tone(float("nan"))
    (3, -6, 0, None)
    """
    if math.isnan(value):
        return None
    passed = sum(100 * abs(value) >= tasks_seen for tasks_seen in _STEPS)
    return passed if value > 0 else -passed


def short(names: Sequence[str]) -> list[str]:
    """Return names with the first parts of long ones cut off, as far as all stay apart."""
    each = (shortened(names, width) for width in _WIDTHS)
    return next((own for own in each if own != list(names)), list(names))


def evenly(items: Sequence[_Item], most: int) -> list[_Item]:
    """Return at most so many items, evenly apart, the first and the last among them.

    >>> evenly(range(1, 51), 5), evenly("abc", 5)
    ([1, 13, 25, 38, 50], ['a', 'b', 'c'])
    """
    last = len(items) - 1
    if last < most:
        return list(items)
    return [items[round(k * last / (most - 1))] for k in range(most)]
