"""Charts of a report, and its sections' figures, as texts and numbers for a template.

Every number that is drawn is also in the `table` of its chart.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from figures.appearance import learner_appearances
from figures.lines import SHADES, shades
from probe.extensions import spread_over
from probe.immutable import immutable
from probe.tables.sheets import Sheet

_TICKS = 4
_APART = 0.08  # of the names of lines, as a share of the height


@immutable
class ChartPoint:
    """A value at x with its interval; NaN = no interval."""

    x: float
    value: float
    low: float = math.nan
    high: float = math.nan
    tip: str = ""


class ChartAxis(NamedTuple):
    """The range of an axis and the numbers on it."""

    low: float
    high: float
    ticks: Sequence[float]

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        return (value - self.low) / (self.high - self.low or 1)


@immutable
class Chart:
    """A chart: series of points by name over a common axis, joined by lines.

    Attributes:
        series: The points of each series, by its name.
        across: The title of the axis of x.
        up: The title of the axis of values.
        among: All names among which a series has its color, by default those of the
            series.
        zero: Whether the axis of values includes 0.
    """

    kind: ClassVar[str] = "chart"
    series: Mapping[str, Sequence[ChartPoint]]
    across: str
    up: str
    among: Sequence[str] = ()
    zero: bool = True

    @property
    def drawn(self) -> dict[str, Sequence[ChartPoint]]:
        """The series that are drawn: if there are many, some at even distances."""
        finite = {}
        for name, points in self.series.items():
            if line := [point for point in points if math.isfinite(point.value)]:
                finite[name] = line
        return dict(spread_over(list(finite.items()), len(SHADES)))

    @property
    def shades(self) -> list[int]:
        """The number of the color of each series that is drawn."""
        among = list(self.among or self.drawn)
        return [shades(len(among))[among.index(name)] for name in self.drawn]

    @property
    def ends(self) -> list[float]:
        """The height of each line's name, 0 to 1: near its last point, without overlaps."""
        last = [self.y.at(points[-1].value) for points in self.drawn.values()]
        order = sorted(range(len(last)), key=last.__getitem__)
        below = -math.inf
        above = 1.0
        for k in order:
            below = last[k] = max(last[k], below + _APART)
        for k in reversed(order):
            last[k] = min(last[k], above)
            above = last[k] - _APART
        return last

    @property
    def x(self) -> ChartAxis:
        """The x axis."""
        all_x = sorted({point.x for point in self._points})
        apart = _round_up(len(all_x) / (_TICKS + 2))
        ticks = [x for x in all_x if x == all_x[0] or x % apart == 0]
        return ChartAxis(all_x[0], all_x[-1], ticks)

    @property
    def y(self) -> ChartAxis:
        """The axis of values, which includes all intervals."""
        values = [0.0] if self.zero else []
        for point in self._points:
            values += [point.value, point.low, point.high]
        return value_axis(values)

    @property
    def _points(self) -> Iterable[ChartPoint]:
        return chain(*self.drawn.values())

    @property
    def table(self) -> Sheet:
        """The values: a line for each x, a column for each series."""
        tips = defaultdict[int, dict[str, str]](dict)
        for name, points in self.series.items():
            for point in points:
                tips[round(point.x)][name] = point.tip
        lines = []
        for x, tip_of in sorted(tips.items()):
            texts = (tip_of.get(name, "-") for name in self.series)
            lines.append((str(x), *texts))
        return Sheet(columns=[self.across, *self.series], lines=lines)


@immutable
class ReportFigure:
    """A view, and what it is about.

    Attributes:
        run: The run, "" if the report is about one run.
        learner: The learner, "" = all of them.
        readout: The readout, "" = all of them.
        title: What else it is about.
        view: The view.
        more: Whether it is hidden until the reader opens it.
    """

    run: str = ""
    learner: str = ""
    readout: str = ""
    title: str = ""
    view: Any
    more: bool = False


class Section(NamedTuple):
    """A question, by its name in the template, and its figures."""

    name: str
    figures: Sequence[ReportFigure]
    more: Sequence[ReportFigure]


def value_axis(values: Iterable[float]) -> ChartAxis:
    """Return an axis that includes all values, with a few round numbers.

    >>> value_axis([0, 0.97]).ticks
    [0.0, 0.5, 1.0]
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    least = min(finite)
    most = max(finite)
    step = _round_up((most - least or 1) / _TICKS)
    first = math.floor(least / step)
    last = math.ceil(most / step)
    ticks = [round(k * step, 10) for k in range(first, max(last, first + 1) + 1)]
    return ChartAxis(ticks[0], ticks[-1], ticks)


def _round_up(least: float) -> float:
    """Return a round number that is not less than a number."""
    ten = 10.0 ** math.floor(math.log10(least))
    return next(digit * ten for digit in (1, 2, 5, 10) if digit * ten >= least)


def label(learner: str) -> str:
    """Return a learner's printed name."""
    return learner_appearances([learner])[learner].label
