"""Panels of a figure: their grid, their size in inches, and what stands along their axes.

A figure is begun by `panels`, drawn into, and ended by `fit`, which gives every panel its size and
lets the figure grow by what labels, titles and legends need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from figures import style


def blank(rows: int, *, wide: bool) -> Figure:
    """Return an empty figure for that many rows of panels, as wide as one column or two of a page.

    It is higher than it needs to be until `fit` makes it fit. pyplot, which keeps every figure
    that it makes, does not know of it.
    """
    size = (style.DOUBLE if wide else style.SINGLE, 4 * rows + 3)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panels(
    count: int, most: int = 1, *, wide: bool | None = None, share_y: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a `blank` figure and its panels, row by row, at most so many of them side by side.

    wide: None = if there are several panels; share_y: whether all have the same y axis.
    """
    columns = balanced(count, most)
    rows = math.ceil(count / columns)
    figure = blank(rows, wide=count > 1 if wide is None else wide)
    # Always an array of rows and columns, also of a single panel.
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
    """Label the x and the y axis of all panels, and give each panel its height in inches.

    labels: the one of x, below all panels, and the one of y, beside them; "" = none. height, width:
    of a panel, of the first one where they differ in size; width 0 = as wide as the figure allows.
    The layout is final then: nothing moves any more when the figure is saved.
    """
    x_label = figure.supxlabel(labels[0]) if labels[0] else None
    y_label = figure.supylabel(labels[1]) if labels[1] else None
    rows, columns = axes[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
    for panel in figure.axes:
        _settle_empty_labels(panel)
    # Once would do if what stands around the panels did not depend on the size of the figure.
    for _ in range(4):
        arrange(figure)
        box = axes[0].get_position(original=True)
        now_wide, now_high = figure.get_size_inches()
        wider = columns * (width - box.width * now_wide) if width else 0.0
        higher = rows * (height - box.height * now_high)
        if max(abs(wider), abs(higher)) < 1e-3:
            break
        figure.set_size_inches(now_wide + wider, now_high + higher)
    figure.set_layout_engine(None)  # not "none", with which it is drawn twice wherever it is saved
    # In the middle of the panels, not of the figure as matplotlib would have them.
    whole = Bbox.union([panel.get_position() for panel in axes])
    if x_label:
        x_label.set_x((whole.x0 + whole.x1) / 2)
    if y_label:
        y_label.set(y=(whole.y0 + whole.y1) / 2, multialignment="center")


def arrange(figure: Figure) -> None:
    """Give every part of a figure its position now; matplotlib does so only when it draws."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)


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


def name_ticks(
    figure: Figure,
    axes: Axes,
    x: Sequence[float],
    names: Sequence[str],
    *,
    upright: bool = False,
) -> None:
    """Write names below the x axis, at x; turn them if they would touch. "" = a tick alone.

    upright: turn them as many names are turned, however few they are.
    """
    axes.set_xticks(list(x), list(names))
    arrange(figure)
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    gap = figure.dpi / 18  # 4 points
    if any(left.x1 + gap > right.x0 for left, right in pairwise(boxes)):
        rotation, va = (90, "center") if upright or len(names) > 16 else (40, "top")
        for label in labels:
            label.set(rotation=rotation, rotation_mode="anchor", ha="right", va=va)


def _settle_empty_labels(axes: Axes) -> None:
    # Every layout looks for the position of an axis label anew, even of one without a text.
    for axis in (axes.xaxis, axes.yaxis):
        if not axis.get_label_text():
            axis.set_label_coords(0, 0)
