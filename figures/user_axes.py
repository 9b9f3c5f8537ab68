"""The axes of a user's figure as a page: they keep their size, and the user's settings."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from figures import layout, lines, style
from figures.page import Page
from probe.errors import InputError

_GAP = 3  # points between the label of the x axis and the legend


@dataclass(kw_only=True)
class UserAxes(Page):
    """A page of the axes of a user's figure; `kind` is the figure's name, for messages.

    Labels, legend and color bar belong to the axes, so that `layout="constrained"` and
    `tight_layout` make room for them.
    """

    axes: Axes
    kind: str

    def style(self) -> AbstractContextManager[None]:
        """Return a context with the user's settings."""
        return nullcontext()

    def __post_init__(self) -> None:
        axes: object = self.axes
        figure = axes.get_figure(root=True) if isinstance(axes, Axes) else None
        if figure is None:
            raise InputError(
                "`ax` is not axes of a figure: use axes from `plt.subplots()`"
            )
        self.figure = figure

    def legible(self, columns: int, rows: int) -> bool:
        """Return whether numbers of three digits fit in the cells of that many columns and rows."""
        layout.arrange(self.figure)
        digit = style.digits_size() * self.figure.dpi / 72
        box = self.axes.bbox
        return box.width / columns > 2.1 * digit and box.height / rows > 1.2 * digit

    def blocks(
        self, titles: Sequence[Sequence[str]], *arguments: object, **options: object
    ) -> list[list[Axes]]:
        """Return the axes for the selected panel, and hidden ones for all others."""
        all_titles = list(chain(*titles))
        index = self._panel_index(all_titles)
        if all_titles[index]:
            self.axes.set_title(all_titles[index])
        panels = list(Figure().subplots(1, len(all_titles), squeeze=False)[0])
        panels[index] = self.axes
        # Parted into blocks as long as those of the titles.
        remaining = iter(panels)
        return [list(islice(remaining, len(block))) for block in titles]

    def _panel_index(self, titles: Sequence[str]) -> int:
        """Return the index of the panel to draw into the axes."""
        panel = self.options.panel
        count = len(titles)
        if panel in titles:
            return titles.index(str(panel))
        if isinstance(panel, int) and 1 <= panel <= count:
            return panel - 1
        if panel is None and count == 1:
            return 0
        numbered = ", ".join(
            f"{k}: {title}" for k, title in enumerate(titles[:20], start=1)
        )
        got = "" if panel is None else f" and none is {panel!r}"
        raise InputError(
            f"figures.{self.kind} has {count} panel{'s' * (count > 1)} "
            f"({numbered}){got}, and the axes hold one: name it by panel=1 to "
            f"{count}, or draw fewer, as by learners=[...] or readouts=[...]"
        )

    def legend(
        self, entries: Iterable[lines.Entry], title: str = "", *, joined: bool = True
    ) -> None:
        """Put a legend without a title below the axes, in as few rows as their width allows."""
        layout.arrange(self.figure)
        layout.legend(
            self.axes,
            lines.keys(entries, joined=joined),
            0.97 * self.axes.bbox.width,
            loc="upper center",
            title="",
            borderaxespad=0,
        )

    def color_bar(
        self,
        image: ScalarMappable,
        label: str,
        ticks: Sequence[float],
        *_: object,
        **__: object,
    ) -> None:
        """Put a color bar to the right of the axes, as matplotlib does, whatever their size."""
        colors = ScalarMappable(image.norm, image.cmap)
        # The label runs along the bar, which is as long as the axes are high.
        label = "\n".join(fill(line, 24) for line in label.split("\n"))
        self._put_bar(colors, label, ticks, ax=self.axes)

    def fit(
        self,
        grid: Sequence[Axes],
        axis_labels: tuple[str, str],
        *sizes: object,
        **options: object,
    ) -> Figure:
        """Label the axes, in lines that fit, and move the legend below the label of x."""
        for k, axis in enumerate((self.axes.xaxis, self.axes.yaxis)):
            if text := axis_labels[k]:
                label = axis.set_label_text(text)
                layout.arrange(self.figure)
                length = label.get_window_extent().size[k]
                room = 0.85 * self.axes.bbox.size[k]
                if length > room and "\n" not in text:
                    label.set_text(fill(text, max(8, int(len(text) * room / length))))
            # The legend takes from the room that there is along y.
            self._lower_legend()
        return self.figure

    def _lower_legend(self) -> None:
        """Move the legend below the ticks and the label of x, and below all texts."""
        legend = self.axes.get_legend()
        if legend is None:
            return
        boxes = [text.get_window_extent() for text in self.axes.texts]
        if ticks := self.axes.xaxis.get_tightbbox():
            boxes.append(ticks)
        below = max(self.axes.bbox.y0 - box.y0 for box in (self.axes.bbox, *boxes))
        inches = -below / self.figure.dpi - _GAP / 72
        down = ScaledTranslation(0, inches, self.figure.dpi_scale_trans)
        legend.set_bbox_to_anchor((0.5, 0), transform=self.axes.transAxes + down)
