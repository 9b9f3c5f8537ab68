"""Grids of panels, the texts along their axes, and the layout of a figure before it is drawn."""

import math
from collections.abc import Sequence
from itertools import pairwise, product
from textwrap import fill
from typing import Any, cast

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text


def balanced(count: int, most: int) -> int:
    """Return the number of columns for panels: of the fewest rows, filled as evenly as can be.

    Args:
        count: The number of panels.
        most: The largest number of columns.

    Returns:
        The number of columns.

    >>> [balanced(n, most=4) for n in (1, 4, 5, 6, 7, 9)]
    [1, 4, 3, 3, 4, 3]
    """
    return math.ceil(count / math.ceil(count / most))


def legend(
    owner: Figure | Axes, keys: Sequence[Artist], room: float, **options: Any
) -> Legend:
    """Put a legend with the most columns that fit, or with one.

    The columns evenly fill one row, two rows, and so on. The width of a legend is known
    only once it is made.

    Args:
        owner: The figure or the axes.
        keys: The keys of the legend.
        room: The width that it must not reach, in pixels.
        options: The other options of matplotlib's legend.
    """
    most = max(1, len(keys))
    *wider, narrowest = dict.fromkeys(math.ceil(most / k) for k in range(1, most + 1))
    for columns in wider:
        drawn = owner.legend(handles=keys, ncols=columns, **options)
        if drawn.get_window_extent().width < room:
            return drawn
        drawn.remove()
    return owner.legend(handles=keys, ncols=narrowest, **options)


def filled(figure: Figure, text: str, room: float, size: str) -> str:
    """Break lines that are too long for the room.

    Args:
        figure: The figure that the lines are drawn on.
        text: The lines.
        room: The largest width, in pixels.
        size: The name of matplotlib's setting for the font size.
    """
    drawn = figure.text(0, 0, text, fontsize=matplotlib.rcParams[size])  # type: ignore[index]
    width = drawn.get_window_extent().width
    drawn.remove()
    if width <= room:
        return text
    lines = text.split("\n")
    most = max(8, int(max(map(len, lines)) * room / width) - 1)
    return "\n".join(fill(line, most, break_on_hyphens=False) for line in lines)


def fold(label: Text, inches: float, along: int) -> bool:
    """Break a label if it is too long.

    Args:
        label: The label.
        inches: The largest length of the label, in inches.
        along: The direction, 0 = x, 1 = y.

    Returns:
        Whether it was broken.
    """
    length = label.get_window_extent().size[along] / label.figure.dpi
    if length < 0.98 * inches:
        return False
    before = label.get_text()
    # As many letters in a line as fit, in proportion to the longest line.
    letters = max(map(len, before.split("\n")))
    width = max(8, min(letters - 1, int(0.95 * letters * inches / length)))
    label.set_text("\n".join(fill(line, width) for line in before.split("\n")))
    return label.get_text() != before


def center(label: Text, middle: float, along: int) -> None:
    """Move a label so that its center is at a place, or as near as the figure's edges allow.

    Args:
        label: The label.
        middle: The center, as a share of the figure's width or height.
        along: The direction, 0 = x, 1 = y.
    """
    # Half the length of the label, as a share of the figure.
    half = (
        0.001
        + label.get_window_extent().size[along] / label.figure.bbox.size[along] / 2
    )
    position = min(max(middle, half), 1 - half) if half < 0.5 else 0.5
    coordinate = "xy"[along]
    label.set(**{coordinate: position}, multialignment="center")


def arrange(figure: Figure) -> None:
    """Lay out a figure now; by itself matplotlib does so only when it draws."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)


def resize(
    panel: Axes,
    labels: Sequence[tuple[Text, int]],
    height: float,
    width: float,
    square: bool,
) -> None:
    """Resize a figure until one of its panels has this width and height; break long labels.

    Args:
        panel: The panel.
        labels: The labels of the axes with their direction, 0 = x, 1 = y.
        height: The height of the panel, in inches.
        width: The width of the panel, in inches; 0 = the figure keeps its width.
        square: Whether the panel is as high as it is wide.
    """
    figure = cast(Figure, panel.figure)
    rows, columns = panel.get_gridspec().get_geometry()  # type: ignore[union-attr]
    # Repeated, as the size of the texts around the panels depends on that of the
    # figure.
    for _ in range(8 if square else 4):
        arrange(figure)
        inches = figure.get_size_inches()
        panel_width, panel_height = panel.get_position(original=True).size * inches
        wider = columns * (width - panel_width) if width else 0.0
        higher = rows * ((panel_width if square else height) - panel_height)
        size = inches[0] + wider, inches[1] + higher
        # A label that is longer than the figure goes on in another line.
        folded = [fold(label, size[k], k) for label, k in labels]
        if max(abs(wider), abs(higher)) < 1e-3 and not any(folded):
            break
        figure.set_size_inches(*size)


def put_above(figure: Figure, text: str, **look: Any) -> None:
    """Put a line above everything drawn; the figure grows by its height."""
    if not text:
        return
    width, height = figure.get_size_inches()
    # 0.8 of the width: bold letters are wider than those that are measured.
    text = filled(figure, text, 0.8 * figure.bbox.width, "font.size")
    line = figure.text(
        0.5,
        1,
        text,
        ha="center",
        va="top",
        **look,
    )
    more = line.get_window_extent().height / figure.dpi + 0.05
    share = height / (height + more)
    figure.set_size_inches(width, height + more)
    for axes in figure.axes:
        x, y, w, h = axes.get_position(original=True).bounds
        axes.set_position((x, share * y, w, share * h))
    for label in figure.texts:
        label.set_y(share * label.get_position()[1])
    for legend in figure.legends:
        top = share * legend.get_bbox_to_anchor().y1 / figure.bbox.height
        legend.set_bbox_to_anchor((0, 0, 1, top), figure.transFigure)
    line.set_y(1 - 0.04 / (height + more))


def turn_touching(axes: Axes) -> None:
    """Turn the names below an x axis if they would touch."""
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    gap = axes.figure.dpi / 18  # 4 points
    if any(box.x1 + gap > after.x0 for box, after in pairwise(boxes)):
        is_upright = len(axes.get_xticks()) > 16
        rotation, va = (90, "center") if is_upright else (40, "top")
        for label in labels:
            label.set(
                rotation=rotation,
                rotation_mode="anchor",
                ha="right",
                va=va,
            )


def ticks(first: int, last: int) -> list[int]:
    """Return the whole numbers to mark on an axis: all if there are up to eleven, else a few.

    Args:
        first: The first number.
        last: The last number.

    Returns:
        The numbers to mark.

    >>> ticks(0, 5), ticks(1, 20)
    ([0, 1, 2, 3, 4, 5], [1, 5, 10, 15, 20])
    """
    span = last - first
    if span <= 10:
        return list(range(first, last + 1))
    # The first of 2, 5, 10, 20, 50, ... that gives six intervals or fewer.
    pairs = product(range(9), (2, 5, 10))
    steps = (digit * 10**power for power, digit in pairs)
    step = next(step for step in steps if span / step <= 6)
    return [first, *range(first - first % step + step, last + 1, step)]
