"""A page to draw on: a page of our own in the house style, or the axes of a user's figure.

A kind of figure asks its page for panels, a legend and a size, and cannot tell the two apart. A
user's axes have room for one panel, and are drawn in the user's settings of matplotlib.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import chain, islice
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import labels, layout, lines, style
from figures.appearance import Appearance, learner_appearances
from figures.options import Options
from figures.pages import beside
from figures.tables import Tables
from probe.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of our own, or the axes of a user's figure.

    options: as asked for; every: the names in the figure of all learners, by which spare
    appearances are given; axes: the user's, None = a figure of our own; kind: the figure's name,
    for messages.
    """

    options: Options = field(default_factory=Options)
    every: Sequence[str] = ()
    axes: Axes | None = None
    kind: str = "the figure"

    def style(self) -> AbstractContextManager[None]:
        """Return a context in the house style, or on given axes in the user's settings."""
        if self.axes is not None:
            return nullcontext()
        return style.house_style(self.options.font_size, self.options.font)

    @property
    def scale(self) -> float:
        """Size of texts, relative to the house style."""
        return (self.options.font_size or style.LABELS) / style.LABELS

    @property
    def wide(self) -> float:
        """Widest that a figure can be, in inches."""
        return self.options.width or style.DOUBLE

    def legible(self, columns: int, rows: int) -> bool:
        """Tell whether numbers fit in so many cells of a panel; on our own pages they do."""
        return self.axes is None or beside.legible(self.axes, columns, rows)

    def looks(self, names: Iterable[str]) -> dict[str, Appearance]:
        """Return the appearance of each learner, see `learner_appearances`, with its label.

        Spare ones are given as if all learners were drawn. Requested learners come in the requested
        order.
        """
        wanted, named = set(names), self.options.labels
        found = learner_appearances([*wanted, *self.every])
        order = [name for name in self.options.learners or () if name in wanted]
        return {
            name: replace(found[name], label=named.get(name, found[name].label))
            for name in dict.fromkeys((*order, *found))
            if name in wanted
        }

    def label(self, name: str) -> str:
        """Return a learner's name in print."""
        return self.looks([name])[name].label

    def caption(self, tables: Tables, learners: Iterable[str], *sentences: str) -> str:
        """Return a paragraph of sentences, with the learners that are drawn, and their data."""
        named = labels.learners_named([self.label(name) for name in learners])
        return labels.caption(*sentences, named, labels.measured_on(tables.rows))

    def across(self, most: int) -> int:
        """Return the panels side by side, where a page of two columns has room for so many.

        >>> [Page(options=Options(width=width)).across(4) for width in (None, 7, 3.25, 1)]
        [4, 4, 2, 1]
        """
        if self.options.width is None and self.options.font_size is None:
            return most
        return max(1, min(most, round(most * self.wide / style.DOUBLE / self.scale)))

    def panels(
        self,
        titles: Sequence[str],
        most: int = 1,
        *,
        wide: bool | None = None,
        share_y: bool = True,
        fold: bool = True,
    ) -> tuple[Figure, list[Axes]]:
        """Return a figure and its panels with these titles, at most so many of them side by side.

        wide: None = if there are several panels; share_y: whether all have the same y axis; fold:
        whether titles are names, which are broken where they are long. On given axes all panels
        but the one asked for are drawn out of sight.
        """
        columns = layout.balanced(len(titles), self.across(most))
        wide = len(titles) > 1 if wide is None else wide
        figure, (grid,) = self.blocks([titles], columns, wide=wide, share_y=share_y, fold=fold)
        return figure, grid

    def blocks(
        self,
        titles: Sequence[Sequence[str]],
        columns: int,
        *,
        wide: bool,
        share_y: bool = True,
        fold: bool = True,
    ) -> tuple[Figure, list[list[Axes]]]:
        """Return a figure and blocks of panels with these titles, see `panels`, `layout.blocks`."""
        counts, every = [len(each) for each in titles], list(chain(*titles))
        if self.axes is not None:
            figure, panels = self._beside(self.axes, every)
            return figure, [list(islice(panels, count)) for count in counts]
        width = self.options.width
        figure, blocks = layout.blocks(counts, columns, wide=wide, share_y=share_y, width=width)
        for axes, title in zip(chain(*blocks), every, strict=True):
            if title:
                axes.set_title(self.folded(title, columns if fold else 0))
        return figure, blocks

    def legend(
        self,
        figure: Figure,
        entries: Iterable[lines.Entry],
        title: str = "",
        *,
        joined: bool = True,
    ) -> None:
        """Put a legend above the panels, see `lines.legend_above`, or below the given axes.

        title: says what points and bars are; below given axes that is left to the caption.
        """
        if self.axes is None:
            lines.legend_above(figure, entries, title, joined=joined)
        else:
            beside.legend(self.axes, lines.handles(entries, joined=joined))

    def legend_right(self, figure: Figure, entries: Sequence[Line2D], title: str) -> None:
        """Put a legend with an entry in each line at the right of the panels.

        In a column of a page it would take half of the width: there it goes above them.
        """
        if self.axes is None and self.wide < style.NARROW:
            lines.legend_above(figure, entries, title)
        elif self.axes is None:
            figure.legend(handles=entries, loc="outside right upper", title=title)
        else:
            beside.legend(self.axes, list(entries), title)

    def color_bar(
        self,
        figure: Figure,
        grid: Sequence[Axes],
        image: ScalarMappable,
        label: str,
        ticks: Sequence[float],
        size: tuple[float, float],
    ) -> None:
        """Explain the colors of an image, see `lines.color_bar`."""
        if self.axes is not None:
            beside.color_bar(self.axes, image, label, ticks)
        else:
            # As far as is known here, panels are as wide as a figure whose width was asked for.
            wide = self.options.width - 0.6 if self.options.width else size[0]
            lines.color_bar(figure, grid, image, label, ticks, (wide, size[1]))

    def color_steps(
        self, figure: Figure, grid: Sequence[Axes], colors: lines.Colors, label: str
    ) -> None:
        """Explain the colors of 1, 2, ... by a color bar beside the panels."""
        shown = list(grid) if self.axes is None else [self.axes]
        lines.color_steps(figure, shown, colors, label)

    def fit(
        self,
        figure: Figure,
        grid: Sequence[Axes],
        sides: tuple[str, str],
        height: float,
        width: float = 0,
        *,
        square: bool = False,
    ) -> Figure:
        """Label the axes, size the panels, see `layout.fit`, and return the figure.

        square: whether panels are as high as they are wide where the width of the figure was asked
        for; others have the same height whatever the width. Given axes keep their size.
        """
        fixed = self.options.width is not None
        if self.axes is not None:
            beside.label(self.axes, sides)
        else:
            layout.fit(figure, grid, sides, height, 0 if fixed else width, square=fixed and square)
        return figure

    def _beside(self, axes: Axes, titles: Sequence[str]) -> tuple[Figure, Iterator[Axes]]:
        """Return the figure of the given axes, and any hidden axes."""
        figure, chosen = beside.figure_of(axes), self._chosen(titles)
        unseen = Figure().subplots(1, len(titles), squeeze=False)[0]
        if titles[chosen]:
            axes.set_title(titles[chosen])
        return figure, (axes if k == chosen else other for k, other in enumerate(unseen))

    def _chosen(self, titles: Sequence[str]) -> int:
        """Return the index of the panel that is drawn into given axes."""
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

    def folded(self, title: str, columns: int) -> str:
        """Break a title in lines that fit above one of so many panels side by side.

        columns: 0 = leave it as it is on a page of the house's size.
        """
        if self.options.width is None and self.options.font_size is None:
            return labels.folded(title) if columns else title
        # A letter is about half as wide as high.
        columns = max(1, columns)
        room = int(0.9 * self.wide / columns * 72 / (0.6 * style.LABELS * self.scale))
        if _FORMULA.search(title):
            return title if len(title) < 2 * room else title.replace(", ", ",\n")
        return labels.folded(title, width=max(6, min(room, 22) if columns > 1 else room))


HOUSE = Page()
"""A page of our own, as wide as one column or two, with all learners."""


class Draw(Protocol):
    """Draws a kind of figure, None where there is nothing to draw."""

    def __call__(self, tables: Tables, page: Page = ...) -> Figure | None:
        """Draw these tables on that page."""


def on_page(draw: Callable[[Tables, Page], Figure | None]) -> Draw:
    """Let a function draw in the settings of its page, by default the house style."""

    @wraps(draw)
    def drawn(tables: Tables, page: Page = HOUSE) -> Figure | None:
        with page.style():
            return draw(tables, page)

    return drawn


# A text between two dollar signs, of which none is escaped.
_FORMULA = re.compile(r"(?<!\\)\$.*(?<!\\)\$")
