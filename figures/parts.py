"""The parts that figures are put together from: panels, lines with bars, ticks and legends."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures.style import Look
from probe.table import SummaryRow


def panels(count: int, columns: int, width: float) -> tuple[Figure, list[Axes]]:
    """Return a figure of `width` inches and its panels, in rows, with a shared y axis.

    The figure is unknown to pyplot. It has room to spare in height until `fit` takes it back.
    """
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(width, 4 * rows + 3), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
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
    labels, titles and legends need is thus never taken from the panels. The layout is then final.
    """
    x_label, y_label = figure.supxlabel(labels[0]), figure.supylabel(labels[1])
    rows, columns = axes[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
    for _ in range(3):
        lay_out(figure)
        box = axes[0].get_position()
        now_wide, now_high = figure.get_size_inches()
        wide = now_wide + columns * (width - box.width * now_wide) if width else now_wide
        figure.set_size_inches(wide, now_high + rows * (height - box.height * now_high))
    lay_out(figure)
    figure.set_layout_engine("none")
    boxes = [panel.get_position() for panel in axes]
    x_label.set_x((min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2)
    y_label.set_y((min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2)


def lay_out(figure: Figure) -> None:
    """Find the place of every part now, instead of when the figure is drawn."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)


def plot_means(axes: Axes, look: Look, x: Sequence[float], rows: Sequence[SummaryRow]) -> None:
    """Draw a line through the rows' means at x, in percent, with bars of one std either way.

    A row of a single seed has no bar.
    """
    std = np.array([row.std for row in rows])
    axes.errorbar(
        x,
        [100 * row.mean for row in rows],
        yerr=None if np.isnan(std).all() else 100 * std,
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        markeredgecolor="white",
        markeredgewidth=0.4,
        elinewidth=0.9,
        capthick=0.9,
    )


def dodges(count: int) -> list[float]:
    """Return offsets along x that keep the bars of `count` lines apart, symmetric about 0."""
    step = min(0.08, 0.5 / count)
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


def learner_key(look: Look) -> Line2D:
    """Return the legend's entry of a learner."""
    return Line2D([], [], color=look.colour, marker=look.marker, ls=look.line, label=look.label)


def legend_above(figure: Figure, keys: Sequence[Artist], title: str = "") -> None:
    """Put a legend above all axes, in as many columns as the figure's width allows."""
    for columns in range(len(keys), 0, -1):
        legend = figure.legend(
            handles=list(keys), ncols=columns, loc="outside upper center", title=title or None
        )
        if legend.get_window_extent().width < 0.97 * figure.bbox.width:
            return
        if columns > 1:
            legend.remove()


def seeds_note(rows: Iterable[SummaryRow]) -> str:
    """Say what the points and bars of a figure are.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, measure="pra", place=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> seeds_note([row])
    'Mean ± standard deviation over 3 seeds'
    """
    seeds = [row.seeds for row in rows]
    least, most = min(seeds), max(seeds)
    if most == 1:
        return "One seed"
    number = str(most) if least == most else f"{least} to {most}"
    return f"Mean ± standard deviation over {number} seeds"


def shortened(names: Sequence[str], width: int = 24) -> list[str]:
    """Leave out the first parts of dotted names of more than `width` characters, if all stay apart.

    >>> shortened(["stem", "backbone.features.denseblock1.denselayer2.conv1"])
    ['stem', '…denselayer2.conv1']
    """
    short = [name if len(name) <= width else _end(name, width) for name in names]
    return short if len(set(short)) == len(names) else list(names)


def _end(name: str, width: int) -> str:
    parts = name.split(".")
    ends = ["…" + ".".join(parts[k:]) for k in range(1, len(parts))]
    return next((end for end in ends if len(end) <= width), (ends or [name])[-1])


def folded(name: str, width: int = 22) -> str:
    """Break a name after a dot, underscore or space where a line would outgrow `width` characters.

    >>> folded("features.denseblock3.conv2")
    'features.denseblock3.\\nconv2'
    """
    lines = [""]
    for part in re.findall(r"[^._ ]*[._ ]?", name):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)
