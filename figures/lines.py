"""Lines, markers and error bars of learners, and their keys in a legend.

matplotlib's `errorbar` and `plot` draw; `dress` then turns an `Appearance` into their settings.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator
from numpy.typing import ArrayLike, NDArray

from figures.appearance import Appearance, Appearances, Marker
from figures.cells import LINEAR
from figures.layout import ticks
from probe.analysis.intervals import SeedMean
from probe.tables.rows import LayerRow, MetricRow, SummaryRow

Groups = Sequence[Mapping[str, MetricRow]]
"""Groups of rows, in each by the name of a learner or a strategy."""

MOST_BARRED = 20
"""Most points of a line that have bars, and markers, each: more cannot be told apart."""

Colors = NDArray[np.float64] | Sequence[str]
"""One for each of several things: (N, 4) RGBA in [0, 1], or N names."""

Key = Line2D | Patch
"""Key of a legend as matplotlib takes it."""

Entry = Appearance | Key
"""Entry of a legend."""


def plot_means(
    axes: Axes,
    appearance: Appearance,
    x: Sequence[float],
    rows: Sequence[SummaryRow | MetricRow | SeedMean],
    *,
    x_bars: Sequence[float] = (),
    intervals: Sequence[tuple[float, float]] = (),
    scale: float = 100,
    joined: bool = True,
) -> Line2D:
    """Draw the rows' means at x, with bars of one standard deviation either way, or of intervals.

    Returns the line through them. A row of a single seed has no bar. x_bars: how far bars along x
    reach either way, none by default; intervals: the low and the high end of the bar along y, of
    each row, NaN = no bar; scale: what the means are multiplied by, 100 = fractions in percent;
    joined: whether a line runs through the markers.
    """
    means = [scale * row.mean for row in rows]
    bars: Any = [scale * row.std for row in rows]
    if intervals:
        # matplotlib draws no bar of negative length, as rounding can make one.
        ends = scale * np.transpose(intervals) - means
        bars = np.maximum([-ends[0], ends[1]], 0)
    # matplotlib leaves out a bar of NaN, but not the caps of bars that are all NaN.
    xerr, yerr = (None if np.isnan(each).all() else np.asarray(each) for each in (x_bars, bars))
    color, thin = appearance.color, 0.9
    drawn = axes.errorbar(x, means, yerr, xerr, color=color, elinewidth=thin, capthick=thin)
    line = dress(drawn.lines[0], appearance, joined=joined)
    # A marker at each of many points would hide the line.
    line.set_markevery(1 + len(x) // MOST_BARRED)
    return line


def plot_layers(
    axes: Axes, appearance: Appearance, x: Sequence[float], rows: Sequence[LayerRow]
) -> None:
    """Draw rows of layers.csv at x, with their intervals."""
    points = [SeedMean(mean=row.value, std=math.nan, seeds=row.seeds) for row in rows]
    plot_means(axes, appearance, x, points, intervals=[(row.low, row.high) for row in rows])


def plot_groups(
    axes: Axes, appearances: Appearances, groups: Groups, *, most: float, span: float, scale: float
) -> None:
    """Draw groups of markers at x = 0, 1, ..., side by side within each, with lines between them.

    groups: the rows of each by name, which has its offset in all of them, see `dodges`; scale: as
    in `plot_means`.
    """
    offsets = dodges(len(appearances), most, span)
    for (name, appearance), offset in zip(appearances.items(), offsets, strict=True):
        own = {k + offset: group[name] for k, group in enumerate(groups) if name in group}
        plot_means(axes, appearance, list(own), list(own.values()), scale=scale, joined=False)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    for k in range(1, len(groups)):
        axes.axvline(k - 0.5, color="0.8", linewidth=0.6, zorder=0)


def widen(grid: Sequence[Axes]) -> None:
    """Give the shared y axis of accuracies in percent the scale of `WIDENED`."""
    if max(axes.dataLim.y1 for axes in grid) > 90:
        grid[0].set_yscale("function", functions=(_widened, _narrowed))
        grid[0].yaxis.set_major_locator(FixedLocator([20, 50, 80, 90, 95, 98, 100]))


WIDENED = (
    f"Where accuracies reach 90 %, the scale is linear within {LINEAR:g} points of 100 %, and "
    f"logarithmic below, so that lines can be told apart"
)
"""The sentence of captions on the scale of `widen`."""


def _widened(percent: NDArray[np.float64]) -> NDArray[np.float64]:
    return -np.arcsinh((100 - percent) / LINEAR)


def _narrowed(places: NDArray[np.float64]) -> NDArray[np.float64]:
    return 100 - LINEAR * np.sinh(-places)


def hold_fractions(axes: Axes, most: float = 1) -> None:
    """Give the y axis of fractions, or of those times `most`, all of its range, and all bars."""
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -0.04 * most), max(high, 1.04 * most))


def widths(count: int) -> list[float]:
    """Return the widths of so many lines in the order in which they are drawn, so that none hides.

    >>> widths(3), widths(1)
    ([2.6, 1.75, 0.9], [1.2])
    """
    return [2.6 - 1.7 * k / (count - 1) for k in range(count)] if count > 1 else [1.2]


def plot_course(
    axes: Axes, appearance: Appearance, steps: range, values: ArrayLike, width: float = 1
) -> None:
    """Draw fractions over steps, in percent, with a marker at the first step and at each tick.

    values: one for each step, NaN = a gap in the line; width: see `widths`.
    """
    # A marker at every step would hide a line over many of them.
    marked = ticks(1, steps[-1])
    (line,) = axes.plot(steps, 100 * np.asarray(values))
    dress(line, appearance, size=3.6)
    line.set(linewidth=width, markevery=[i for i, k in enumerate(steps) if not i or k in marked])


def dress(
    line: Line2D, appearance: Appearance, *, size: float = 4.6, joined: bool = True
) -> Line2D:
    """Give a line its appearance and return it.

    size: of its markers, in points; joined: whether a line runs through them.
    """
    color, filled = appearance.color, appearance.filled
    line.set(
        color=color,
        linestyle=appearance.line if joined else "none",
        marker=appearance.marker,
        markersize=size * _AS_LARGE.get(appearance.marker, 1.0) * (1 if filled else 0.85),
        markerfacecolor=color if filled else "white",
        markeredgecolor="white" if filled else color,  # to stand out against others
        markeredgewidth=0.4 if filled else 1.0,
    )
    return line


def dodges(count: int, most: float = 0.08, span: float = 0.5) -> list[float]:
    """Return offsets along x that keep the bars of `count` learners apart, symmetric about 0.

    They are `most` apart, or less where all of them would take more than `span`. Points that
    coincide, as at an accuracy of 1, then stay visible side by side.
    """
    step = min(most, span / count)
    return [step * (k - (count - 1) / 2) for k in range(count)]


def handles(entries: Iterable[Entry], *, joined: bool = True) -> list[Key]:
    """Return the keys of a legend; joined: whether a line runs through the markers."""
    return [
        dress(Line2D([], [], label=each.label), each, joined=joined)
        if isinstance(each, Appearance)
        else each
        for each in entries
    ]


# What makes filled markers of one size look equally large; open ones look larger by their edge.
_AS_LARGE: dict[Marker, float] = {
    **{"D": 0.85, "h": 1.1, "P": 1.2, "X": 1.2, "*": 1.5, ".": 1.3},
    **dict.fromkeys([(4, 1, 0), (4, 1, 45), (6, 1, 0)], 1.5),
    **dict.fromkeys("^v<>", 1.15),
}
