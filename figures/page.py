"""Pages to draw on: a figure in the house style, or the axes of a user's figure.

A kind of figure asks its page for panels, a legend and a size, and cannot tell which of
the two it is. A user's axes have room for one panel, and are drawn with the user's
settings of matplotlib.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox, ScaledTranslation

from figures import captions, layout, lines, style
from figures.appearance import Appearance, learner_appearances
from figures.options import Options
from figures.tables import StudyTables
from probe.errors import InputError
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
        """Return the printed names of learners in one line, see `captions.listed`."""
        return captions.listed(map(self.display_name, learners))

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
        """Begin a figure and return blocks of panels, each of which starts a new row.

        With a user's axes, all panels but the selected one are drawn out of sight.

        Args:
            titles: The title of each panel of each block.
            columns: The number of panels side by side.
            wide: Whether the figure is as wide as two columns of a page.
            share_y: Whether all panels share the y axis.
            fold: Whether titles are names, which are broken if they are long.
        """
        rows = sum(math.ceil(len(block) / columns) for block in titles)
        figure = self.blank(rows, wide=wide)
        # All cells row by row, also of a single panel; a block takes some rows of them.
        cells = figure.subplots(rows, columns, sharey=share_y, squeeze=False).ravel()
        blocks = []
        for block in titles:
            panels = list(cells[: len(block)])
            blocks.append(panels)
            for axes, title in zip(panels, block, strict=True):
                # For speed: otherwise every layout would look for the ticks on each.
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
        # The width of a legend is known only once it is made: the most columns that fit.
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
            # Even one column is too wide: names are broken into lines.
            for text in legend.get_texts():
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
        # Of a figure of a requested width, panels and bar are taken to be nearly as wide.
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
        self._resize(
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
            layout.center(figure, label, (bounds.min[k] + bounds.max[k]) / 2, k)
        if self.options.title:
            question, study = self.headline
            self._put_above(study, color="0.3")
            self._put_above(question, weight="bold", size=style.LABELS)
        return figure

    def _resize(
        self,
        panel: Axes,
        labels: Sequence[tuple[Text, int]],
        height: float,
        width: float,
        square: bool,
    ) -> None:
        """Resize the figure until a panel has this width and height; break long labels.

        Args:
            panel: One of the panels.
            labels: The labels of the axes with their direction, 0 = x, 1 = y.
            height: The height of the panel, in inches.
            width: The width of the panel, in inches; 0 = the figure keeps its width.
            square: Whether the panel is as high as it is wide.
        """
        figure = self.figure
        rows, columns = panel.get_gridspec().get_geometry()  # type: ignore[union-attr]
        # Repeated, as the size of the texts around the panels depends on that of the
        # figure.
        for _ in range(8 if square else 4):
            layout.arrange(figure)
            inches = figure.get_size_inches()
            panel_width, panel_height = panel.get_position(original=True).size * inches
            wider = columns * (width - panel_width) if width else 0.0
            higher = rows * ((panel_width if square else height) - panel_height)
            size = inches[0] + wider, inches[1] + higher
            # A label that is longer than the figure goes on in another line.
            folded = [layout.fold(figure, label, size[k], k) for label, k in labels]
            if max(abs(wider), abs(higher)) < 1e-3 and not any(folded):
                break
            figure.set_size_inches(*size)

    def _put_above(self, text: str, **look: Any) -> None:
        """Put a line above everything drawn; the figure grows by its height."""
        if not text:
            return
        figure = self.figure
        width, height = figure.get_size_inches()
        # 0.8 of the width: bold letters are wider than those that are measured.
        text = layout.filled(figure, text, 0.8 * figure.bbox.width, "font.size")
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
                        rotation=rotation,
                        rotation_mode="anchor",
                        ha="right",
                        va=va,
                    )

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
        keys = lines.keys(entries, joined=joined)
        for columns in layout.columns(len(keys)):
            legend = self.axes.legend(
                handles=keys,
                ncols=columns,
                loc="upper center",
                title="",
                borderaxespad=0,
            )
            if legend.get_window_extent().width < 0.97 * self.axes.bbox.width:
                return

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


_GAP = 3  # points between the label of the x axis and the legend

# A text between two dollar signs, of which none is escaped.
_FORMULA = re.compile(r"(?<!\\)\$.*(?<!\\)\$")
