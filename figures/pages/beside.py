"""Labels, legend and color bar of axes of a user's figure.

All of it belongs to the axes, so that `layout="constrained"` and `tight_layout` make room for it,
and is set in the user's settings of matplotlib.
"""

import math
from collections.abc import Sequence
from textwrap import fill

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from figures import layout
from figures.cells import digits_size
from probe.errors import InputError

_GAP = 3  # points between the label of the x axis and the legend


def legend(axes: Axes, handles: Sequence[Artist], title: str = "") -> None:
    """Put a legend below axes, in as few rows as their width allows, filled evenly."""
    layout.arrange(figure_of(axes))
    most = len(handles)
    for columns in dict.fromkeys(math.ceil(most / rows) for rows in range(1, most + 1)):
        found = axes.legend(
            handles=handles, ncols=columns, loc="upper center", title=title or None, borderaxespad=0
        )
        if columns == 1 or found.get_window_extent().width < 0.97 * axes.bbox.width:
            return


def label(axes: Axes, labels: tuple[str, str]) -> None:
    """Label the x and the y axis, in lines that fit; "" = no label. A legend comes below."""
    for text, axis, along in zip(labels, (axes.xaxis, axes.yaxis), (0, 1), strict=True):
        if text:
            shown = axis.set_label_text(text)
            layout.arrange(figure_of(axes))
            long, room = shown.get_window_extent().size[along], 0.85 * axes.bbox.size[along]
            if long > room and "\n" not in text:
                shown.set_text(fill(text, max(8, int(len(text) * room / long))))
        # Below the label of x; and it takes from the room that there is along y.
        _lower(axes)


def color_bar(axes: Axes, image: ScalarMappable, label: str, ticks: Sequence[float]) -> None:
    """Put a color bar at the right of axes, as matplotlib does."""
    colors = ScalarMappable(image.norm, image.cmap)
    # The label runs along the bar, which is as long as the axes are high.
    text = fill(label, 24)
    bar = figure_of(axes).colorbar(colors, ax=axes, label=text, ticks=list(ticks), format="%g")
    bar.outline.set_visible(False)


def legible(axes: Axes, columns: int, rows: int) -> bool:
    """Tell whether numbers of three digits fit in so many cells."""
    layout.arrange(figure_of(axes))
    point, size = figure_of(axes).dpi / 72, digits_size()
    wide, high = axes.bbox.width / columns, axes.bbox.height / rows
    return wide > 2.1 * size * point and high > 1.2 * size * point


def _lower(axes: Axes) -> None:
    """Move the legend below the label of the x axis."""
    found, figure = axes.get_legend(), figure_of(axes)
    if found is None:
        return
    boxes = [axes.xaxis.get_tightbbox(), *(text.get_window_extent() for text in axes.texts)]
    below = max([0.0, *(axes.bbox.y0 - box.y0 for box in boxes if box)])
    down = ScaledTranslation(0, -below / figure.dpi - _GAP / 72, figure.dpi_scale_trans)
    found.set_bbox_to_anchor((0.5, 0), transform=axes.transAxes + down)


def figure_of(axes: Axes) -> Figure:
    """Return the figure of axes; raise InputError if they belong to none."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise InputError("the axes belong to no figure: take those of `plt.subplots()`")
    return figure
