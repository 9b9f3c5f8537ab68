"""Pages to draw on: a figure in the house style, or the axes of a user's figure.

A kind of figure asks its page for panels, a legend and a size, and cannot tell which of
the two it is. A user's axes have room for one panel, and are drawn with the user's
settings of matplotlib.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from figures import captions, layout, lines, style
from figures.appearance import Appearance, Appearances, learner_appearances
from figures.options import Options
from figures.tables import StudyTables
from probe.tables.note_text import listed
from probe.tables.table_file import where


@dataclass(kw_only=True)
class Page:
    """A page that holds a figure of our own.

    Attributes:
        options: The requested options.
        tables: The tables to draw.
        all_learners: All learners of the tables, by which spare appearances are given
            out.
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
        return style.house_style(self.scale, self.options.font)

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

    def appearances(self, learners: Iterable[str]) -> Appearances:
        """Return the appearance of each learner, see `learner_appearances`, with its label.

        Spare appearances are given as if all learners were drawn. Requested learners
        are in the requested order.
        """
        drawn = set(learners)
        looks = learner_appearances([*drawn, *self.all_learners])
        for name, label in self.options.labels.items():
            if name in looks:
                looks[name] = replace(looks[name], label=label)
        for name, color in self.options.colors.items():
            if name in looks:
                looks[name] = replace(looks[name], color=color)
        names = dict.fromkeys((*(self.options.learners or ()), *looks))
        return {name: looks[name] for name in names if name in drawn}

    def display_name(self, learner: str) -> str:
        """Return a learner's printed name."""
        return self.appearances([learner])[learner].label

    def listed(self, learners: Iterable[str]) -> str:
        """Return the printed names of learners in one line, the first few of them."""
        return listed(map(self.display_name, learners))

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
        in_notes = names
        if kinds:
            of_kinds = where(self.tables.learners, kind=names).set_index("learner")
            in_notes = of_kinds["kind"].map(names).to_dict()
        doubts = captions.doubts(self.tables.notes, in_notes, readouts)
        rows = self.tables.measurements
        self.headline = self.question, captions.study(rows)
        self.caption = captions.caption(sentences, [*names.values()], rows, doubts)

    def across(self, most: int) -> int:
        """Return how many panels fit side by side, if `most` fit on two columns of a page.

        >>> [Page(options=Options(width=width)).across(4) for width in (None, 7, 3.25, 1)]
        [4, 4, 2, 1]
        """
        fitting = round(most * self.max_width / style.DOUBLE / self.scale)
        return max(1, min(most, fitting))

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
        """Begin a figure and return its panels in blocks; every block starts a new row.

        `UserAxes` draws all panels but the selected one out of sight.

        Args:
            titles: The title of each panel of each block.
            columns: The number of panels side by side.
            wide: Whether the figure is as wide as two columns of a page.
            share_y: Whether all panels share the y axis.
            fold: Whether titles are names, which are broken if they are long.
        """
        rows = sum(math.ceil(len(block) / columns) for block in titles)
        figure = self.blank(rows, wide=wide)
        # All cells, row by row; squeeze=False keeps a single one an array.
        cells = figure.subplots(rows, columns, sharey=share_y, squeeze=False).ravel()
        blocks = []
        for block in titles:
            panels = list(cells[: len(block)])
            blocks.append(panels)
            for axes, title in zip(panels, block, strict=True):
                # For speed: otherwise every layout measures the ticks of every spine.
                axes.spines[:].set_in_layout(False)
                if title:
                    axes.set_title(self.fold_title(title, columns if fold else 0))
            used = math.ceil(len(block) / columns) * columns
            for unused in cells[len(block) : used]:
                unused.remove()
            cells = cells[used:]
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
        # Without any line, keys are as short as a marker.
        length = None if any(key.get_linestyle() != "None" for key in keys) else 1
        room = 0.97 * figure.bbox.width
        title = layout.filled(figure, title, room, "legend.title_fontsize")
        legend = layout.legend(
            figure,
            keys,
            room,
            loc="outside upper center",
            title=title or None,
            handlelength=length,
        )
        width = legend.get_window_extent().width
        # If even one column is too wide, names are broken into lines.
        for text in legend.get_texts() if width >= room else ():
            name = text.get_text()
            share = (room - width) / max(1, text.get_window_extent().width) + 1
            text.set_text(fill(name, max(6, int(share * len(name)))))
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
        # If a width was requested, panels and bar are taken to be nearly as wide.
        width = self.options.width - 0.6 if self.options.width else size[0]
        # The length of the panels' side along which the bar runs.
        along = size[1] if beside else width
        length = min(along, 3.0 if beside else 2.5)
        room = length * self.figure.dpi if beside else 0.85 * self.figure.bbox.width
        self._put_bar(
            image,
            layout.filled(self.figure, label, room, "axes.labelsize"),
            ticks,
            ax=list(grid),
            location="right" if beside else "top",
            shrink=length / along,
            aspect=length / 0.08,
            pad=0.06 / (size[0] if beside else size[1]),
        )

    def _put_bar(
        self, image: ScalarMappable, label: str, ticks: Sequence[float], **place: Any
    ) -> None:
        """Put a color bar without a frame."""
        bar = self.figure.colorbar(
            image,
            label=label,
            ticks=list(ticks),
            format="%g",
            **place,
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
        self.legend([*layers.values(), *more] if labeled else more, title)
        if not labeled:
            palette = ListedColormap([look.color for look in layers.values()])
            # From half a step before the first number: each color is around its number.
            scale = ScalarMappable(Normalize(0.5, palette.N + 0.5), palette)
            self._put_bar(
                scale,
                "Layer, by depth",
                layout.ticks(1, palette.N),
                ax=[self.axes] if self.axes else list(grid),
                fraction=0.05,
                pad=0.02,
                aspect=25,
            )

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
        if self.options.width is None:
            square = False
        else:
            width = 0
        label_along = (figure.supxlabel, figure.supylabel)
        # Labels with their direction: 0 = along x, 1 = along y.
        texts = [
            (label_along[k](text), k) for k, text in enumerate(axis_labels) if text
        ]
        # For speed: otherwise every layout would search the position of axis labels, even
        # of those without a text.
        for panel in figure.axes:
            for axis in (panel.xaxis, panel.yaxis):
                if not axis.get_label_text():
                    axis.set_label_coords(0, 0)
        layout.resize(
            grid[0],
            texts,
            height,
            width,
            square,
        )
        # The layout is final. With "none" the figure would be drawn twice when saved.
        figure.set_layout_engine(None)
        # In the middle of the panels, not of the figure as matplotlib would have them.
        bounds = Bbox.union([panel.get_position() for panel in grid])
        for label, k in texts:
            layout.center(label, (bounds.min[k] + bounds.max[k]) / 2, k)
        if self.options.title:
            question, study = self.headline
            layout.put_above(figure, study, color="0.3")
            layout.put_above(figure, question, weight="bold", size=style.LABELS)
        return figure

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
        for axes in grid:
            layout.turn_touching(axes)

    def name_layers(
        self, grid: Sequence[Axes], layers: Sequence[Mapping[int, str]]
    ) -> None:
        """Write the names of layers below the x axis of each panel.

        Args:
            grid: The axes of the panels.
            layers: The names of the layers by depth, for each panel.
        """
        names = []
        for name_of in layers:
            short_names = captions.shortened(list(name_of.values()))
            names.append(dict(zip(name_of, short_names, strict=True)))
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
        points = 0.9 * 72 * self.max_width / max(1, columns)
        room = int(points / (0.6 * style.LABELS * self.scale))
        if _FORMULA.search(title):
            return title if len(title) < 2 * room else title.replace(", ", ",\n")
        if columns > 1:
            room = min(room, 22)
        return captions.folded(title, width=max(6, room))


# A text between two dollar signs that are not escaped.
_FORMULA = re.compile(r"(?<!\\)\$.*(?<!\\)\$")
