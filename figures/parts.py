"""The parts that figures are put together from: panels, lines with bars, ticks and legends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from figures.appearance import Look, Marker
from probe.tables.rows import MetricRow, SummaryRow

Averaged = SummaryRow | MetricRow
"""What has a mean, a standard deviation and a number of seeds."""


def blank(rows: int, width: float) -> Figure:
    """Return an empty figure of `width` inches, unknown to pyplot, for that many rows of panels.

    It has room to spare in height until `fit` takes it back.
    """
    figure = Figure(figsize=(width, 4 * rows + 3), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panels(
    count: int, columns: int, width: float, *, share_y: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a `blank` figure and its panels, in rows, with one y axis for all unless told not."""
    rows = math.ceil(count / columns)
    figure = blank(rows, width)
    grid = figure.subplots(rows, columns, sharey=share_y, squeeze=False)
    for unused in grid.flat[count:]:
        unused.remove()
    return figure, list(grid.flat[:count])


def balanced(count: int, most: int) -> int:
    """Return the number of columns, at most `most`, that fills the fewest rows most evenly.

    >>> [balanced(n, most=4) for n in (1, 4, 5, 6, 7, 9)]
    [1, 4, 3, 3, 4, 3]
    """
    return math.ceil(count / math.ceil(count / most))


def fit(
    figure: Figure, axes: Sequence[Axes], labels: tuple[str, str], height: float, width: float = 0
) -> None:
    """Put the (x, y) labels beside all panels and give each panel its height in inches.

    The figure grows or shrinks to that; with a `width` it does so in that direction too. What the
    labels, titles and legends need is thus never taken from the panels. Where panels differ in
    size the first is meant. An empty label is left out. The layout is then final.
    """
    x_label = figure.supxlabel(labels[0]) if labels[0] else None
    y_label = figure.supylabel(labels[1]) if labels[1] else None
    rows, columns = axes[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
    for panel in figure.axes:
        _settle_empty_labels(panel)
    for _ in range(4):
        lay_out(figure)
        box = axes[0].get_position(original=True)
        now_wide, now_high = figure.get_size_inches()
        wider = columns * (width - box.width * now_wide) if width else 0.0
        higher = rows * (height - box.height * now_high)
        if max(abs(wider), abs(higher)) < 1e-3:
            break
        figure.set_size_inches(now_wide + wider, now_high + higher)
    figure.set_layout_engine(None)  # not "none", with which it is drawn twice wherever it is saved
    boxes = [panel.get_position() for panel in axes]
    if x_label:
        x_label.set_x((min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2)
    if y_label:
        y_label.set_multialignment("center")
        y_label.set_y((min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2)


def lay_out(figure: Figure) -> None:
    """Find the place of every part now, instead of when the figure is drawn."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)


def _settle_empty_labels(axes: Axes) -> None:
    """Give axes' labels without a text a place, which is else sought anew with every layout."""
    for axis in (axes.xaxis, axes.yaxis):
        if not axis.get_label_text():
            axis.set_label_coords(0, 0)


def plot_means(axes: Axes, look: Look, x: Sequence[float], rows: Sequence[Averaged]) -> None:
    """Draw a line through the rows' means at x, in percent, with bars of one std either way.

    A row of a single seed has no bar.
    """
    means = [100 * row.mean for row in rows]
    plot_bars(axes, look, x, means, y_bars=[100 * row.std for row in rows])


def plot_bars(
    axes: Axes,
    look: Look,
    x: Sequence[float],
    y: Sequence[float],
    *,
    x_bars: Sequence[float] | None = None,
    y_bars: Sequence[float] | None = None,
    joined: bool = True,
) -> None:
    """Draw markers at (x, y) with bars that reach so far either way; a bar of NaN is left out."""
    bars = [
        None if reach is None or np.isnan(reach).all() else np.asarray(reach)
        for reach in (x_bars, y_bars)
    ]
    drawn = axes.errorbar(
        x, y, xerr=bars[0], yerr=bars[1], color=look.color, elinewidth=0.9, capthick=0.9
    )
    dress(drawn.lines[0], look, joined=joined)


def plot_course(axes: Axes, look: Look, steps: range, values: ArrayLike) -> None:
    """Draw the course of fractions over steps in percent, with markers at its start and ticks."""
    marked = ticks(1, steps[-1])
    (line,) = axes.plot(steps, 100 * np.asarray(values))
    dress(line, look, size=3.6)
    line.set(linewidth=1, markevery=[i for i, k in enumerate(steps) if not i or k in marked])


def dress(line: Line2D, look: Look, *, size: float = 4.6, joined: bool = True) -> None:
    """Give a line and its markers of `size` points their look; or the markers alone."""
    line.set(
        color=look.color,
        linestyle=look.line if joined else "none",
        marker=look.marker,
        markersize=size * _AS_LARGE.get(look.marker, 1.0) * (1 if look.filled else 0.85),
        markerfacecolor=look.face,
        markeredgecolor=look.edge,
        markeredgewidth=look.edge_width,
    )


def dodges(count: int, most: float = 0.08, span: float = 0.5) -> list[float]:
    """Return offsets along x that keep the bars of `count` learners apart, symmetric about 0.

    They are `most` apart, or less where all would take more than `span`.
    """
    step = min(most, span / count)
    return [step * (k - (count - 1) / 2) for k in range(count)]


def ticks(first: int, last: int) -> list[int]:
    """Return the whole numbers to mark on an axis: all of them up to eleven, else a few.

    >>> ticks(0, 5), ticks(1, 20)
    ([0, 1, 2, 3, 4, 5], [1, 5, 10, 15, 20])
    """
    span = last - first
    if span <= 10:
        return list(range(first, last + 1))
    steps = (step * 10**power for power in range(9) for step in (2, 5, 10))
    step = next(step for step in steps if span / step <= 6)
    return [first, *range(first - first % step + step, last + 1, step)]


def learner_key(look: Look, *, joined: bool = True) -> Line2D:
    """Return the legend's entry of a learner: marker and line, or the marker alone."""
    key = Line2D([], [], label=look.label)
    dress(key, look, joined=joined)
    return key


def legend_above(figure: Figure, keys: Sequence[Line2D | Patch], title: str = "") -> None:
    """Put a legend above all axes, in as few rows as the figure's width allows, filled evenly.

    The figure grows by its height.
    """
    joined = any(key.get_linestyle() != "None" for key in keys)
    for columns in dict.fromkeys(math.ceil(len(keys) / rows) for rows in range(1, len(keys) + 1)):
        legend = figure.legend(
            handles=list(keys),
            ncols=columns,
            loc="outside upper center",
            title=title or None,
            handlelength=None if joined else 1,
        )
        size = legend.get_window_extent()
        if columns == 1 or size.width < 0.97 * figure.bbox.width:
            break
        legend.remove()
    wide, high = figure.get_size_inches()
    figure.set_size_inches(wide, high + size.height / figure.dpi)


def color_bar(
    figure: Figure,
    grid: Sequence[Axes],
    image: ScalarMappable,
    label: str,
    ticks: Sequence[float],
    size: tuple[float, float],
) -> None:
    """Put a thin color bar above all panels, which fill `size` inches."""
    length = min(size[0], 2.5)
    bar = figure.colorbar(
        image,
        ax=list(grid),
        location="top",
        shrink=length / size[0],
        aspect=length / 0.08,
        pad=0.06 / size[1],
        label=label,
        ticks=list(ticks),
        format="%g",
    )
    bar.outline.set_visible(False)


def seeds_note(rows: Iterable[Averaged], *, bars: bool = True) -> str:
    """Say what the points and, if there are any, the bars of a figure are.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, measure="pra", place=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> seeds_note([row]), seeds_note([row], bars=False)
    ('Mean ± standard deviation over 3 seeds', 'Mean over 3 seeds')
    """
    table = list(rows)
    least, most = min(row.seeds for row in table), max(row.seeds for row in table)
    if most == 1:
        return "One seed"
    spread = bars and not all(math.isnan(row.std) for row in table)
    number = str(most) if least == most else f"{least} to {most}"
    return f"Mean{' ± standard deviation' if spread else ''} over {number} seeds"


def part_groups(axes: Axes, count: int) -> None:
    """Give each of `count` groups, at x = 0, 1, ..., its room, and draw lines between them."""
    axes.set_xlim(-0.5, count - 0.5)
    for k in range(1, count):
        axes.axvline(k - 0.5, color="0.8", linewidth=0.6, zorder=0)


def name_places(figure: Figure, axes: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Name places along the x axis, some perhaps with ""; turn the names if they would touch."""
    axes.set_xticks(list(places), list(names))
    lay_out(figure)
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    space = figure.dpi / 18
    if any(left.x1 + space > right.x0 for left, right in pairwise(boxes)):
        steep = len(names) > 16
        for label in labels:
            label.set(
                rotation=90 if steep else 40,
                rotation_mode="anchor",
                ha="right",
                va="center" if steep else "top",
            )


# What makes filled markers of one size look equally large; open ones look larger by their edge.
_AS_LARGE: dict[Marker, float] = {
    **{"D": 0.85, "h": 1.1, "P": 1.2, "X": 1.2, "*": 1.5, ".": 1.3},
    **dict.fromkeys([(4, 1, 0), (4, 1, 45), (6, 1, 0)], 1.5),
    **dict.fromkeys("^v<>", 1.15),
}
