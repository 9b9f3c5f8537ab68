"""Grids of panels, the texts along their axes, and the layout of a figure before it is drawn."""

import math
from collections.abc import Iterable
from itertools import product
from textwrap import fill

import matplotlib
from matplotlib.figure import Figure
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


def columns(count: int) -> Iterable[int]:
    """Return the numbers of columns that evenly fill one row, two rows, and so on.

    >>> list(columns(5))
    [5, 3, 2, 1]
    """
    most = max(1, count)
    return dict.fromkeys(math.ceil(most / rows) for rows in range(1, most + 1))


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


def fold(figure: Figure, label: Text, inches: float, along: int) -> bool:
    """Break a label if it is too long.

    Args:
        figure: The figure.
        label: The label.
        inches: The largest length of the label, in inches.
        along: The direction, 0 = x, 1 = y.

    Returns:
        Whether it was broken.
    """
    length = label.get_window_extent().size[along] / figure.dpi
    if length < 0.98 * inches:
        return False
    before = label.get_text()
    # As many letters in a line as fit, in proportion to the longest line.
    letters = max(map(len, before.split("\n")))
    width = max(8, min(letters - 1, int(0.95 * letters * inches / length)))
    label.set_text("\n".join(fill(line, width) for line in before.split("\n")))
    return label.get_text() != before


def center(figure: Figure, label: Text, middle: float, along: int) -> None:
    """Move a label so that its center is at a place, or as near as the figure's edges allow.

    Args:
        figure: The figure.
        label: The label.
        middle: The center, as a share of the figure's width or height.
        along: The direction, 0 = x, 1 = y.
    """
    # Half the length of the label, as a share of the figure.
    half = 0.001 + label.get_window_extent().size[along] / figure.bbox.size[along] / 2
    position = min(max(middle, half), 1 - half) if half < 0.5 else 0.5
    coordinate = "xy"[along]
    label.set(**{coordinate: position}, multialignment="center")


def arrange(figure: Figure) -> None:
    """Lay out a figure now; by itself matplotlib does so only when it draws."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)


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
