"""Panels of a figure: their grid, their size in inches, and the texts along their axes.

A figure is begun by `blocks`, drawn into, and ended by `fit`, which gives every panel its size and
lets the figure grow by what labels, titles and legends need.
"""

import math
from collections.abc import Sequence
from itertools import islice, pairwise
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from figures import style


def blank(rows: int, *, wide: bool, width: float | None = None) -> Figure:
    """Return an empty figure for so many rows of panels, one or two columns of a page wide.

    It is too high until `fit` makes it fit, and unknown to pyplot, which would keep it. width: in
    inches, another one.
    """
    size = (width or (style.DOUBLE if wide else style.SINGLE), 4 * rows + 3)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def blocks(
    counts: Sequence[int],
    columns: int,
    *,
    wide: bool,
    share_y: bool = True,
    width: float | None = None,
) -> tuple[Figure, list[list[Axes]]]:
    """Return a `blank` figure and blocks of so many panels, each starting in a row of its own.

    columns: panels side by side; share_y: whether all have the same y axis.
    """
    rows = [math.ceil(count / columns) for count in counts]
    figure = blank(sum(rows), wide=wide, width=width)
    # Always an array of rows and columns, also of a single panel.
    left = iter(figure.subplots(sum(rows), columns, sharey=share_y, squeeze=False).flat)
    found = []
    for high, count in zip(rows, counts, strict=True):
        cells = list(islice(left, high * columns))
        found.append(cells[:count])
        for unused in cells[count:]:
            unused.remove()
    return figure, found


def balanced(count: int, most: int) -> int:
    """Return the number of columns, at most `most`, that fills the fewest rows most evenly.

    >>> [balanced(n, most=4) for n in (1, 4, 5, 6, 7, 9)]
    [1, 4, 3, 3, 4, 3]
    """
    return math.ceil(count / math.ceil(count / most))


def fit(
    figure: Figure,
    axes: Sequence[Axes],
    labels: tuple[str, str],
    height: float,
    width: float = 0,
    *,
    square: bool = False,
) -> None:
    """Label the x and the y axis of all panels, and give each panel its height in inches.

    labels: of x, below all panels, and of y, beside them; "" = none. height, width: of a panel, of
    the first one where they differ in size; width 0 = as wide as the figure allows, and if `square`
    as high as wide. The layout is final: nothing moves any more when the figure is saved.
    """
    x_label = figure.supxlabel(labels[0]) if labels[0] else None
    y_label = figure.supylabel(labels[1]) if labels[1] else None
    rows, columns = axes[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
    # Every layout looks for the position of an axis label anew, even of one without a text.
    for axis in (axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)):
        if not axis.get_label_text():
            axis.set_label_coords(0, 0)
    # Once would do if the texts around the panels did not depend on the size of the figure.
    for _ in range(8 if square else 4):
        arrange(figure)
        box = axes[0].get_position(original=True)
        now_wide, now_high = figure.get_size_inches()
        wider = columns * (width - box.width * now_wide) if width else 0.0
        higher = rows * ((box.width * now_wide if square else height) - box.height * now_high)
        # A label that is longer than the figure goes on in another line.
        x_folded = x_label and _fold(figure, x_label, now_wide + wider, 0)
        y_folded = y_label and _fold(figure, y_label, now_high + higher, 1)
        if max(abs(wider), abs(higher)) < 1e-3 and not (x_folded or y_folded):
            break
        figure.set_size_inches(now_wide + wider, now_high + higher)
    figure.set_layout_engine(None)  # not "none", with which it is drawn twice wherever it is saved
    # In the middle of the panels, not of the figure as matplotlib would have them.
    whole = Bbox.union([panel.get_position() for panel in axes])
    if x_label:
        middle = _within(figure, x_label, (whole.x0 + whole.x1) / 2, 0)
        x_label.set(x=middle, multialignment="center")
    if y_label:
        middle = _within(figure, y_label, (whole.y0 + whole.y1) / 2, 1)
        y_label.set(y=middle, multialignment="center")


def _fold(figure: Figure, label: Text, inches: float, along: int) -> bool:
    """Break a label that is longer than so many inches along x (0) or y (1); say if it was."""
    long = label.get_window_extent().size[along] / figure.dpi
    if long < 0.98 * inches:
        return False
    before = label.get_text()
    letters = max(map(len, before.split("\n")))
    width = max(8, min(letters - 1, int(0.95 * letters * inches / long)))
    label.set_text("\n".join(fill(line, width) for line in before.split("\n")))
    return label.get_text() != before


def _within(figure: Figure, label: Text, middle: float, along: int) -> float:
    """Return the middle of a label, as a share of the figure, moved so that it is on the figure."""
    half = 0.001 + label.get_window_extent().size[along] / figure.bbox.size[along] / 2
    return min(max(middle, half), 1 - half) if half < 0.5 else 0.5


def arrange(figure: Figure) -> None:
    """Lay out a figure now; matplotlib does so only when it draws."""
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
