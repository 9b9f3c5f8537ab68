"""A page to draw on: a figure in the house style; `user_axes` has the axes of a user's figure.

A kind of figure asks its page for panels, a legend and a size, and cannot tell which of
the two it is. A user's axes have room for one panel, and are drawn with the user's
settings of matplotlib.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from figures import captions, layout, lines, style
from figures.appearance import Appearance, learner_appearances
from figures.options import Options
from figures.tables import StudyTables
from probe.tables.table_file import where


@dataclass(kw_only=True)
class Page:
    """A page that holds a figure of our own.

    Attributes:
        options: The requested options.
        tables: The tables to draw.
        all_learners: All learners of the tables, which decide who gets which spare
            appearance.
        question: The question that the figure answers.
        axes: The axes of a user's figure, None on a page of our own.
        figure: The figure, begun by `panels`, `blocks` or `blank`.
        headline: The lines above the panels: question and study.
        caption: The caption, a paragraph for a paper.
    """

    options: Options = field(default_factory=Options)
    tables: StudyTables = field(default_factory=StudyTables, repr=False)
    all_learners: Sequence[str] = ()
    question: str = ""
    axes: Axes | None = None
    figure: Figure = field(init=False, repr=False)
    headline: tuple[str, str] = field(init=False, default=("", ""))
    caption: str = field(init=False)

    def style(self) -> AbstractContextManager[None]:
        """Return a context with the settings of matplotlib to draw with: the house style."""
        return style.house_style(self.options.font_size, self.options.font)

    @property
    def scale(self) -> float:
        """The size of texts, relative to the house style."""
        return (self.options.font_size or style.LABELS) / style.LABELS

    @property
    def max_width(self) -> float:
        """The largest width that a figure can have, in inches."""
        return self.options.width or style.DOUBLE

    def legible(self, columns: int, rows: int) -> bool:
        """Return whether numbers fit in the cells of a panel; on our own pages they always do.

        Args:
            columns: The number of columns.
            rows: The number of rows.

        Returns:
            Whether they fit.
        """
        return True

    def appearances(self, learners: Iterable[str]) -> dict[str, Appearance]:
        """Return the appearance of each learner, see `learner_appearances`, with its label.

        Spare appearances are given as if all learners were drawn. Requested learners
        are in the requested order.
        """
        drawn = set(learners)
        looks = learner_appearances([*drawn, *self.all_learners])
        return {
            name: replace(
                looks[name], label=self.options.labels.get(name, looks[name].label)
            )
            for name in dict.fromkeys((*(self.options.learners or ()), *looks))
            if name in drawn
        }

    def display_name(self, learner: str) -> str:
        """Return a learner's printed name."""
        return self.appearances([learner])[learner].label

    def describe(
        self,
        learners: Iterable[str],
        *sentences: str,
        kinds: bool = False,
        readouts: Collection[str] = (),
    ) -> None:
        """Make the headline and the caption.

        Args:
            learners: The learners that are drawn, or with `kinds` their kinds.
            sentences: The sentences on what is drawn; empty ones are left out.
            kinds: Whether `learners` are kinds of learners.
            readouts: The readouts that are drawn, see `captions.doubts`.
        """
        names = {name: self.display_name(name) for name in learners}
        rows = self.tables.measurements
        in_notes = names
        if kinds:
            of_kinds = where(self.tables.learners, kind=names)
            in_notes = dict(
                zip(of_kinds["learner"], of_kinds["kind"].map(names), strict=True)
            )
        doubts = captions.doubts(self.tables.notes, in_notes, readouts)
        self.headline = self.question, captions.study(rows)
        drawn = captions.caption(sentences, list(names.values()), rows)
        self.caption = " ".join([drawn, *(f"{doubt}." for doubt in doubts)]).replace(
            r"\$", "$"
        )

    def across(self, most: int) -> int:
        """Return how many panels fit side by side, if `most` fit on two columns of a page.

        >>> [Page(options=Options(width=width)).across(4) for width in (None, 7, 3.25, 1)]
        [4, 4, 2, 1]
        """
        return max(
            1, min(most, round(most * self.max_width / style.DOUBLE / self.scale))
        )

    def blank(self, rows: int, *, wide: bool) -> Figure:
        """Begin an empty figure.

        It is too high until `fit` is called. It is not registered with pyplot, which
        would keep it alive.

        Args:
            rows: The number of rows of panels.
            wide: Whether it is as wide as two columns of a page.

        Returns:
            The figure.
        """
        width = self.options.width or (style.DOUBLE if wide else style.SINGLE)
        self.figure = Figure(figsize=(width, 4 * rows + 3), layout="constrained")
        FigureCanvasAgg(self.figure)
        return self.figure

    def panels(
        self,
        titles: Sequence[str],
        most: int = 1,
        *,
        wide: bool | None = None,
        **options: bool,
    ) -> list[Axes]:
        """Begin a figure and return its panels.

        Args:
            titles: The title of each panel.
            most: The largest number of panels side by side.
            wide: Whether the figure is as wide as two columns of a page; None = if
                there are several panels.
            options: The options of `blocks`.
        """
        columns = layout.balanced(len(titles), self.across(most))
        wide = len(titles) > 1 if wide is None else wide
        (grid,) = self.blocks([titles], columns, wide=wide, **options)
        return grid

    def blocks(
        self,
        titles: Sequence[Sequence[str]],
        columns: int,
        *,
        wide: bool,
        share_y: bool = True,
        fold: bool = True,
    ) -> list[list[Axes]]:
        """Begin a figure and return blocks of panels, each of which starts a new row.

        With a user's axes, all panels but the selected one are drawn out of sight.

        Args:
            titles: The title of each panel of each block.
            columns: The number of panels side by side.
            wide: Whether the figure is as wide as two columns of a page.
            share_y: Whether all panels share the y axis.
            fold: Whether titles are names, which are broken if they are long.
        """
        rows = [math.ceil(len(block) / columns) for block in titles]
        figure = self.blank(sum(rows), wide=wide)
        # Always an array of rows and columns, also of a single panel.
        cells = iter(
            figure.subplots(sum(rows), columns, sharey=share_y, squeeze=False).flat
        )
        blocks = []
        for high, block in zip(rows, titles, strict=True):
            panels = list(islice(cells, high * columns))
            blocks.append(panels[: len(block)])
            for axes, title in zip(panels, block, strict=False):
                # Every layout would look for the ticks on each of them anew.
                axes.spines[:].set_in_layout(False)
                if title:
                    axes.set_title(self.fold_title(title, columns if fold else 0))
            for unused in panels[len(block) :]:
                unused.remove()
        return blocks

    def legend(
        self, entries: Iterable[lines.Entry], title: str = "", *, joined: bool = True
    ) -> None:
        """Put a legend above the panels, in as few rows as the figure's width allows.

        The figure grows by the legend's height. A title or name that is too wide for
        the figure is broken into lines.

        Args:
            entries: The entries; an `Appearance` is shown as a marker on a piece of its
                line.
            title: The meaning of points and bars; with a user's axes only the caption
                states it.
            joined: Whether appearances are shown with their lines.
        """
        figure = self.figure
        keys = lines.keys(entries, joined=joined)
        length = None if any(key.get_linestyle() != "None" for key in keys) else 1
        room = 0.97 * figure.bbox.width
        title = layout.filled(figure, title, room, "legend.title_fontsize")
        # The width of a legend is known only when it is there.
        for columns in layout.columns(len(keys)):
            legend = figure.legend(
                handles=keys,
                ncols=columns,
                loc="outside upper center",
                title=title or None,
                handlelength=length,
            )
            width = legend.get_window_extent().width
            if width < room:
                break
            if columns > 1:
                legend.remove()
                continue
            for text in legend.get_texts():
                share = (room - width) / max(1, text.get_window_extent().width) + 1
                text.set_text(
                    fill(text.get_text(), max(6, int(len(text.get_text()) * share)))
                )
        legend.get_title().set_multialignment("center")
        width, height = figure.get_size_inches()
        figure.set_size_inches(
            width, height + legend.get_window_extent().height / figure.dpi
        )

    def color_bar(
        self,
        image: ScalarMappable,
        label: str,
        ticks: Sequence[float],
        grid: Sequence[Axes],
        size: tuple[float, float],
        *,
        beside: bool = False,
    ) -> None:
        """Explain the colors of an image by a thin color bar above all panels.

        Args:
            image: The image with the colors.
            label: The text along the bar.
            ticks: The values with a mark.
            grid: The axes of all panels.
            size: The width and height in inches of all panels together, by which
                matplotlib measures the bar.
            beside: Whether the bar is to the right of the panels if the figure is wide.
        """
        beside = beside and self.max_width >= style.NARROW
        # As far as is known here, panels are as wide as a figure of a requested width.
        width = self.options.width - 0.6 if self.options.width else size[0]
        along = size[1] if beside else width
        length = min(along, 3.0 if beside else 2.5)
        room = length * self.figure.dpi if beside else 0.85 * self.figure.bbox.width
        bar = self.figure.colorbar(
            image,
            ax=list(grid),
            location="right" if beside else "top",
            shrink=length / along,
            aspect=length / 0.08,
            pad=0.06 / size[not beside],
            label=layout.filled(self.figure, label, room, "axes.labelsize"),
            ticks=list(ticks),
            format="%g",
        )
        bar.minorticks_off()
        bar.outline.set_visible(False)

    def layer_legend(
        self,
        grid: Sequence[Axes],
        layers: Mapping[int, Appearance],
        title: str,
        *more: lines.Key,
    ) -> None:
        """Explain the lines of layers by a legend or, if they have no labels, by a color bar.

        Args:
            grid: The axes of the panels.
            layers: The appearance of each layer, by depth.
            title: The title of the legend.
            more: The further keys of the legend.
        """
        labeled = all(look.label for look in layers.values())
        self.legend([*(layers.values() if labeled else ()), *more], title)
        if not labeled:
            palette = ListedColormap([look.color for look in layers.values()])
            # From half a step before the first: so each color stands around its number.
            scale = ScalarMappable(Normalize(0.5, palette.N + 0.5), palette)
            panels = [self.axes] if self.axes else list(grid)
            bar = self.figure.colorbar(
                scale, ax=panels, fraction=0.05, pad=0.02, aspect=25
            )
            bar.set_label("Layer, by depth")
            bar.set_ticks(layout.ticks(1, palette.N))
            bar.outline.set_visible(False)

    def fit(
        self,
        grid: Sequence[Axes],
        axis_labels: tuple[str, str],
        height: float,
        width: float = 0,
        *,
        square: bool = False,
    ) -> Figure:
        """Label the axes, give each panel its size, and return the figure.

        A user's axes keep their size. The layout is final: nothing moves when the
        figure is saved.

        Args:
            grid: The axes of all panels.
            axis_labels: The label of x, below all panels, and of y, beside them; "" =
                none.
            height: The height of a panel in inches; if heights differ, that of the
                first panel.
            width: The width, likewise; 0 = as wide as the figure allows.
            square: Whether panels are as high as wide in a figure of a requested width;
                other figures have the same height whatever the width.
        """
        figure = self.figure
        fixed = self.options.width is not None
        width = 0 if fixed else width
        square = fixed and square
        label_along = (figure.supxlabel, figure.supylabel)
        texts = [
            (label_along[k](text), k) for k, text in enumerate(axis_labels) if text
        ]
        rows, columns = grid[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
        # Every layout looks for the position of an axis label anew, even of one without
        # a text.
        for axis in (
            axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)
        ):
            if not axis.get_label_text():
                axis.set_label_coords(0, 0)
        # Once would do if the texts around the panels did not depend on the size of the
        # figure.
        for _ in range(8 if square else 4):
            layout.arrange(figure)
            inches = figure.get_size_inches()
            panel_width, panel_height = (
                grid[0].get_position(original=True).size * inches
            )
            wider = columns * (width - panel_width) if width else 0.0
            higher = rows * ((panel_width if square else height) - panel_height)
            size = inches[0] + wider, inches[1] + higher
            # A label that is longer than the figure goes on in another line.
            folded = [layout.fold(figure, label, size[k], k) for label, k in texts]
            if max(abs(wider), abs(higher)) < 1e-3 and not any(folded):
                break
            figure.set_size_inches(*size)
        figure.set_layout_engine(
            None
        )  # not "none", with which it is drawn twice when it is saved
        # In the middle of the panels, not of the figure as matplotlib would have them.
        bounds = Bbox.union([panel.get_position() for panel in grid])
        for label, k in texts:
            layout.center(figure, label, (bounds.min[k] + bounds.max[k]) / 2, k)
        for text, look in zip(self.headline[::-1], _HEADLINE, strict=True):
            if text:
                self._put_above(text, **look)
        return figure

    def _put_above(self, text: str, **look: Any) -> None:
        """Put a line above everything drawn; the figure grows by its height."""
        figure = self.figure
        width, height = figure.get_size_inches()
        # Bold letters are wider than those that are measured.
        text = layout.filled(figure, text, 0.8 * figure.bbox.width, "font.size")
        line = figure.text(0.5, 1, text, ha="center", va="top", **look)
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

    def name_ticks(
        self, grid: Sequence[Axes], names: Sequence[Mapping[Any, str]]
    ) -> None:
        """Write names below the x axes, and turn those that would touch.

        Args:
            grid: The axes of all panels.
            names: The names of the ticks of each panel by their position; "" = only a
                tick.
        """
        for axes, name_of in zip(grid, names, strict=True):
            axes.set_xticks(list(name_of), list(name_of.values()))
        # Once for all panels: a layout takes longer than all that is drawn.
        layout.arrange(self.figure)
        gap = self.figure.dpi / 18  # 4 points
        for axes in grid:
            labels = [label for label in axes.get_xticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in labels]
            if any(box.x1 + gap > after.x0 for box, after in pairwise(boxes)):
                is_upright = len(axes.get_xticks()) > 16
                rotation, va = (90, "center") if is_upright else (40, "top")
                for label in labels:
                    label.set(
                        rotation=rotation, rotation_mode="anchor", ha="right", va=va
                    )

    def name_layers(
        self, grid: Sequence[Axes], layers: Sequence[Mapping[int, str]]
    ) -> None:
        """Write the names of layers below the x axis of each panel.

        Args:
            grid: The axes of the panels.
            layers: The names of the layers by depth, for each panel.
        """
        names = [
            dict(zip(n, captions.shortened([*n.values()]), strict=True)) for n in layers
        ]
        self.name_ticks(grid, names)

    def fold_title(self, title: str, columns: int) -> str:
        """Break a title into lines that fit above a panel.

        Args:
            title: The title.
            columns: The number of panels side by side; if 0, the title is not broken on
                pages of the default size.

        Returns:
            The title with line breaks.
        """
        if self.options.width is None and self.options.font_size is None:
            return captions.folded(title) if columns else title
        # A letter is about half as wide as high.
        columns = max(1, columns)
        room = int(
            0.9 * self.max_width / columns * 72 / (0.6 * style.LABELS * self.scale)
        )
        if _FORMULA.search(title):
            return title if len(title) < 2 * room else title.replace(", ", ",\n")
        return captions.folded(
            title, width=max(6, min(room, 22) if columns > 1 else room)
        )


_HEADLINE: tuple[dict[str, Any], ...] = (
    {"color": "0.3"},
    {"weight": "bold", "size": style.LABELS},
)
"""Appearance of the study, and of the question above it."""

# A text between two dollar signs, of which none is escaped.
_FORMULA = re.compile(r"(?<!\\)\$.*(?<!\\)\$")
