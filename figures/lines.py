"""Lines, markers and error bars of learners, and their keys in a legend.

matplotlib's `errorbar` and `plot` draw; `dress` then applies an `Appearance` to what
they have drawn.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from figures import captions
from figures.appearance import Appearance, Appearances, Marker
from figures.layout import ticks
from figures.tables import half_widths

MOST_BARRED = 20
"""Most points of a line that all have bars and markers: more cannot be told apart."""

MOST_NAMED = 10
"""Most layers that the legend names; of more, a color bar shows the depths."""

SHADES = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1e9183", "#4a9a4e", "#8b9a12"]
"""Colors of layers from input to output, the darkest first; all stand out from white by 3 to 1."""

Key = Line2D | Patch
"""Key of a legend as matplotlib takes it."""

Entry = Appearance | Key
"""Entry of a legend."""


def plot_means(
    axes: Axes,
    appearance: Appearance,
    x: ArrayLike,
    rows: pd.DataFrame,
    *,
    x_bars: Sequence[float] = (),
    scale: float = 100,
    joined: bool = True,
) -> Line2D:
    """Draw the rows' means with their bars, and return the line through them.

    Args:
        axes: The axes to draw on.
        appearance: The appearance of the line.
        x: The positions of the rows along x.
        rows: The means, in the columns mean, std and seeds, or value, low and high; a
            mean over a single seed has no bar.
        x_bars: The lengths of the bars along x to either side; () for no bars.
        scale: The factor of the means, 100 to show fractions in percent, whose bars end
            at 0 and 100: no accuracy lies beyond.
        joined: Whether a line runs through the markers.
    """
    if "low" in rows:
        means = rows["value"]
        ends = [rows["value"] - rows["low"], rows["high"] - rows["value"]]
    else:
        means = rows["mean"]
        ends = [half_widths(rows)] * 2
    if scale == 100:
        below, above = ends
        ends = [np.minimum(below, means), np.minimum(above, 1 - means)]
    # matplotlib draws no bar of negative length, as rounding can make one.
    bars = np.maximum(scale * np.array(ends), 0)
    # matplotlib leaves out a bar of NaN, but not the caps of bars that are all NaN.
    xerr, yerr = (
        None if np.isnan(ends).all() else np.asarray(ends) for ends in (x_bars, bars)
    )
    drawn = axes.errorbar(
        np.asarray(x, float),
        scale * means.to_numpy(),
        yerr,
        xerr,
        color=appearance.color,
        elinewidth=0.9,
        capthick=0.9,
    )
    line = dress(drawn.lines[0], appearance, joined=joined)
    # A marker at each of many points would hide the line.
    line.set_markevery(1 + len(rows) // MOST_BARRED)
    return line


def plot_dodged(
    axes: Axes,
    appearances: Mapping[Any, Appearance],
    rows_of: Mapping[Any, pd.DataFrame],
    x: str,
    *,
    most: float = 0.08,
    span: float = 0.5,
    **options: Any,
) -> list[Line2D]:
    """Draw several lines, slightly shifted along x so that bars stay apart; return the lines.

    Args:
        axes: The axes to draw on.
        appearances: The appearance of each line.
        rows_of: The rows of each line.
        x: The name of the column with the positions along x.
        most: The largest distance between two lines, see `dodges`.
        span: The largest distance between the first and the last line, see `dodges`.
        options: The options of `plot_means`.
    """
    drawn = []
    shifts = dodges(len(rows_of), most, span)
    for (key, rows), shift in zip(rows_of.items(), shifts, strict=True):
        positions = rows[x].astype(float) + shift
        drawn.append(plot_means(axes, appearances[key], positions, rows, **options))
    return drawn


def plot_courses(
    axes: Axes, appearances: Appearances, courses: Mapping[str, ArrayLike]
) -> None:
    """Draw fractions in percent over the steps (from 1), with a marker at each tick.

    Args:
        axes: The axes to draw on.
        appearances: The appearance of each learner.
        courses: The values of each learner, step by step; NaN = a gap in the line.
    """
    line_widths = widths(len(courses))
    for (name, values), width in zip(courses.items(), line_widths, strict=True):
        percent = 100 * np.asarray(values)
        (line,) = axes.plot(range(1, len(percent) + 1), percent)
        dress(line, appearances[name], size=3.6)
        # A marker at every step would hide a line over many of them.
        line.set(linewidth=width, markevery=[k - 1 for k in ticks(1, len(percent))])


def mark_steps(axes: Axes, last: int) -> None:
    """Set the limits and ticks of an axis of steps, or of task positions.

    Args:
        axes: The axes.
        last: The last step; the first is 1.
    """
    axes.set_xlim(0.5, last + 0.5)
    axes.set_xticks(ticks(1, last))


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Give axes a row for each name, from the top, without lines or ticks along them."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def layer_appearances(layers: Iterable[tuple[int, str]]) -> dict[int, Appearance]:
    """Return the appearance of layers by depth; layers are given by depth and name.

    They have no labels if there are too many for a legend, or if a depth has different
    names in two architectures.
    """
    pairs = sorted(set(layers))
    names = dict(pairs)
    is_named = len(names) <= MOST_NAMED
    unique = is_named and len(names) == len(pairs)
    texts = captions.shortened(list(names.values())) if unique else [""] * len(names)
    # A color for each depth: one of the shades or, for more depths, between them.
    depths = max(names)
    colors = [SHADES[k] for k in shades(min(depths, len(SHADES)))]
    if depths > len(SHADES):
        between = LinearSegmentedColormap.from_list("layers", SHADES)
        colors = [to_hex(between(k / (depths - 1))) for k in range(depths)]
    markers = cycle("osD^vPX" if is_named else [""])
    return {
        depth: Appearance(text, colors[depth - 1], marker, "-")
        for depth, text, marker in zip(names, texts, markers, strict=False)
    }


def shades(count: int) -> list[int]:
    """Return an index into `SHADES` for each line, as far apart as they can be.

    >>> shades(3), shades(7), shades(1)
    ([0, 3, 6], [0, 1, 2, 3, 4, 5, 6], [0])
    """
    return [int(k * (len(SHADES) - 1) / max(count - 1, 1) + 0.5) for k in range(count)]


def widths(count: int) -> list[float]:
    """Return the widths of lines in the order in which they are drawn, so that none is hidden.

    >>> [round(width, 2) for width in widths(3)], widths(1)
    ([2.6, 1.75, 0.9], [1.2])
    """
    return [2.6 - 1.7 * k / (count - 1) for k in range(count)] if count > 1 else [1.2]


def dodges(count: int, most: float = 0.08, span: float = 0.5) -> list[float]:
    """Return offsets along x that keep the bars of learners apart, symmetric about 0.

    Points that coincide, such as accuracies of 1, then stay visible side by side.

    Args:
        count: The number of learners.
        most: The largest distance between neighbors.
        span: The largest distance between the first and the last.

    Returns:
        The offsets.
    """
    gap = min(most, span / count)
    return [gap * (k - (count - 1) / 2) for k in range(count)]


def dress(
    line: Line2D, appearance: Appearance, *, size: float = 4.6, joined: bool = True
) -> Line2D:
    """Give a line its appearance and return it.

    Args:
        line: The line.
        appearance: The color, line style and marker.
        size: The size of the markers, in points.
        joined: Whether the line runs through its markers.
    """
    color = appearance.color
    filled = appearance.filled
    line.set(
        color=color,
        linestyle=appearance.line if joined else "none",
        marker=appearance.marker,
        markersize=size
        * _MARKER_SCALE.get(appearance.marker, 1.0)
        * (1 if filled else 0.85),
        markerfacecolor=color if filled else "white",
        markeredgecolor="white" if filled else color,  # to stand out against others
        markeredgewidth=0.4 if filled else 1.0,
    )
    return line


def keys(entries: Iterable[Entry], *, joined: bool = True) -> list[Key]:
    """Return the keys of a legend: an appearance becomes a line with its marker.

    Args:
        entries: The entries; those that are keys already stay as they are.
        joined: Whether a line runs through the markers.

    Returns:
        The keys.
    """
    return [
        dress(Line2D([], [], label=entry.label), entry, joined=joined)
        if isinstance(entry, Appearance)
        else entry
        for entry in entries
    ]


# Factors that make filled markers of equal size look equally large; open ones are made
# smaller, as their edge makes them look larger.
_MARKER_SCALE: dict[Marker, float] = {
    **{"D": 0.85, "h": 1.1, "P": 1.2, "X": 1.2, "*": 1.5, ".": 1.3},
    **dict.fromkeys([(4, 1, 0), (4, 1, 45), (6, 1, 0)], 1.5),
    **dict.fromkeys("^v<>", 1.15),
}
