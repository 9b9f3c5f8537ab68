"""Axes of a user's figure as a page: their labels, legend and color bar.

All of it belongs to the axes, so that `layout="constrained"` and `tight_layout` make room for it,
and is set in the user's settings of matplotlib.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from figures import layout, lines
from figures.cells import digits_size
from figures.pages.page import Page
from probe.errors import InputError

_GAP = 3  # points between the label of the x axis and the legend


@dataclass(kw_only=True)
class GivenAxes(Page):
    """The axes of a user's figure. kind: the figure's name, for messages."""

    axes: Axes
    kind: str

    def style(self) -> AbstractContextManager[None]:
        """Return a context in the user's settings."""
        return nullcontext()

    def __post_init__(self) -> None:
        figure = self.axes.get_figure(root=True)
        if figure is None:
            raise InputError("the axes belong to no figure: take those of `plt.subplots()`")
        self.figure = figure

    def legible(self, columns: int, rows: int) -> bool:
        """Tell whether numbers of three digits fit in so many cells."""
        layout.arrange(self.figure)
        point, size = self.figure.dpi / 72, digits_size()
        wide, high = self.axes.bbox.width / columns, self.axes.bbox.height / rows
        return wide > 2.1 * size * point and high > 1.2 * size * point

    def blocks(
        self, titles: Sequence[Sequence[str]], *arguments: object, **options: object
    ) -> list[list[Axes]]:
        """Return the axes for the chosen panel, and hidden ones for all others."""
        every = list(chain(*titles))
        chosen = self._chosen(every)
        if every[chosen]:
            self.axes.set_title(every[chosen])
        panels = list(Figure().subplots(1, len(every), squeeze=False)[0])
        panels[chosen] = self.axes
        left = iter(panels)
        return [[next(left) for _ in block] for block in titles]

    def _chosen(self, titles: Sequence[str]) -> int:
        """Return the index of the panel that is drawn into the axes."""
        panel, count = self.options.panel, len(titles)
        if panel in titles:
            return titles.index(str(panel))
        if isinstance(panel, int) and 1 <= panel <= count:
            return panel - 1
        if panel is None and count == 1:
            return 0
        named = ", ".join(f"{k}: {title}" for k, title in enumerate(titles, start=1) if k <= 20)
        got = "" if panel is None else f" and none is {panel!r}"
        raise InputError(
            f"figures.{self.kind} has {count} panel{'s' * (count > 1)} ({named}){got}, and the "
            f"axes hold one: name it by panel=1 to {count}, or draw fewer, as by learners=[...] or "
            f"readouts=[...]"
        )

    def legend(
        self, entries: Iterable[lines.Entry], title: str = "", *, joined: bool = True
    ) -> None:
        """Put a legend below the axes; the title is left to the caption."""
        self.legend_right(lines.handles(entries, joined=joined), "")

    def legend_right(self, entries: Sequence[lines.Key], title: str) -> None:
        """Put a legend below the axes, in as few rows as their width allows."""
        layout.arrange(self.figure)
        for columns in layout.columns(len(entries)):
            found = self.axes.legend(
                handles=entries, ncols=columns, loc="upper center", title=title, borderaxespad=0
            )
            if found.get_window_extent().width < 0.97 * self.axes.bbox.width:
                return

    def color_bar(
        self,
        grid: Sequence[Axes],
        image: ScalarMappable,
        label: str,
        ticks: Sequence[float],
        *arguments: object,
        **options: object,
    ) -> None:
        """Put a color bar at the right of the axes, as matplotlib does, whatever their size."""
        colors = ScalarMappable(image.norm, image.cmap)
        # The label runs along the bar, which is as long as the axes are high.
        label = "\n".join(fill(line, 24) for line in label.split("\n"))
        bar = self.figure.colorbar(colors, ax=self.axes, label=label, ticks=[*ticks], format="%g")
        bar.minorticks_off()
        bar.outline.set_visible(False)

    def color_steps(self, grid: Sequence[Axes], colors: lines.Colors, label: str) -> None:
        """Explain the colors of 1, 2, ... by a color bar at the right of the axes."""
        super().color_steps([self.axes], colors, label)

    def fit(
        self, grid: Sequence[Axes], sides: tuple[str, str], *sizes: object, **options: object
    ) -> Figure:
        """Label the axes in lines that fit, and move the legend below the label of x."""
        for text, axis, k in zip(sides, (self.axes.xaxis, self.axes.yaxis), (0, 1), strict=True):
            if text:
                shown = axis.set_label_text(text)
                layout.arrange(self.figure)
                long, room = shown.get_window_extent().size[k], 0.85 * self.axes.bbox.size[k]
                if long > room and "\n" not in text:
                    shown.set_text(fill(text, max(8, int(len(text) * room / long))))
            # The legend takes from the room that there is along y.
            self._lower_legend()
        return self.figure

    def _lower_legend(self) -> None:
        """Move the legend below the label of the x axis."""
        axes, figure, found = self.axes, self.figure, self.axes.get_legend()
        if found is None:
            return
        boxes = [axes.xaxis.get_tightbbox(), *(text.get_window_extent() for text in axes.texts)]
        below = max([0.0, *(axes.bbox.y0 - box.y0 for box in boxes if box)])
        down = ScaledTranslation(0, -below / figure.dpi - _GAP / 72, figure.dpi_scale_trans)
        found.set_bbox_to_anchor((0.5, 0), transform=axes.transAxes + down)
