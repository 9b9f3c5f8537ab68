"""What a figure is drawn on: a page of our own in the house style, or the axes of a user's figure.

A kind of figure asks its page for panels, a legend and a size, and does not know which it is. On
axes of a user there is room for one panel; the settings of matplotlib are the user's there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from itertools import accumulate
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import layout, lines, style
from figures.appearance import Appearance, learner_appearances
from figures.labels import folded
from figures.options import WHOLE, Options
from figures.pages import beside
from figures.tables import Tables
from probe.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where and how a figure is drawn.

    options: what was asked for; every: the names that the figure has when all learners are drawn,
    by which spare appearances are given; axes: of the user's, None = a figure of our own; kind: the
    figure's name, for messages.
    """

    options: Options = WHOLE
    every: Sequence[str] = ()
    axes: Axes | None = None
    kind: str = "the figure"

    def style(self) -> AbstractContextManager[None]:
        """Return in which settings of matplotlib is drawn: ours on a page of our own."""
        if self.axes is not None:
            return nullcontext()
        return style.house_style(self.options.font_size, self.options.font)

    @property
    def scale(self) -> float:
        """How large texts are in comparison with those of the house style."""
        return (self.options.font_size or style.LABELS) / style.LABELS

    @property
    def wide(self) -> float:
        """The most inches that a figure can be wide."""
        return self.options.width or style.DOUBLE

    def legible(self, columns: int, rows: int) -> bool:
        """Whether numbers in so many cells of one panel can be read; on our own pages they can."""
        return self.axes is None or beside.legible(self.axes, columns, rows)

    def looks(self, names: Iterable[str]) -> dict[str, Appearance]:
        """Return the appearance of each learner, see `learner_appearances`, with its label.

        Spare ones are given as if all learners were drawn. Where learners were asked for, they come
        in that order.
        """
        wanted, labels = set(names), self.options.labels
        found = learner_appearances([*wanted, *self.every])
        order = [name for name in self.options.learners or () if name in wanted]
        return {
            name: replace(found[name], label=labels.get(name, found[name].label))
            for name in dict.fromkeys((*order, *found))
            if name in wanted
        }

    def label(self, name: str) -> str:
        """Return a learner's name in print."""
        return self.looks([name])[name].label

    def across(self, most: int) -> int:
        """Return how many panels are side by side where a page of two columns has room for so many.

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
        """Return a figure and its panels, which have these titles, as `layout.panels`.

        fold: whether titles are names, which are broken where they are long. On given axes all
        panels but the one asked for are drawn where nobody sees them.
        """
        if self.axes is not None:
            return self._beside(titles)
        columns = layout.balanced(len(titles), self.across(most))
        figure, grid = layout.panels(
            len(titles), columns, wide=wide, share_y=share_y, width=self.options.width
        )
        self._name(grid, titles, columns if fold else 0)
        return figure, grid

    def blocks(
        self, titles: Sequence[Sequence[str]], columns: int, *, wide: bool
    ) -> tuple[Figure, list[list[Axes]]]:
        """Return a figure and blocks of panels with these titles, see `layout.blocks`."""
        counts = [len(each) for each in titles]
        if self.axes is not None:
            figure, grid = self._beside([title for each in titles for title in each])
            ends = list(accumulate(counts))
            return figure, [grid[end - k : end] for end, k in zip(ends, counts, strict=True)]
        figure, blocks = layout.blocks(counts, columns, wide=wide, width=self.options.width)
        for block, each in zip(blocks, titles, strict=True):
            self._name(block, each, columns)
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

        title: what points and bars are; below given axes it is left to the caption.
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
        """Say what the colors of an image are, see `lines.color_bar`."""
        if self.axes is not None:
            beside.color_bar(self.axes, image, label, ticks)
            return
        if self.options.width:
            # As far as is known here, panels are as wide as the figure.
            size = (self.options.width - 0.6, size[1])
        lines.color_bar(figure, grid, image, label, ticks, size)

    def color_steps(
        self, figure: Figure, grid: Sequence[Axes], colors: lines.Colors, label: str
    ) -> None:
        """Say which color stands for 1, 2, ..., by a color bar beside the panels."""
        shown = list(grid) if self.axes is None else [self.axes]
        lines.color_steps(figure, shown, colors, label)

    def fit(
        self,
        figure: Figure,
        grid: Sequence[Axes],
        labels: tuple[str, str],
        height: float,
        width: float = 0,
        *,
        square: bool = False,
    ) -> None:
        """Label the axes and give the panels their size, see `layout.fit`; given axes keep theirs.

        square: whether panels are as high as they are wide where the width of the figure was asked
        for; others have the same height whatever the width.
        """
        if self.axes is not None:
            beside.label(self.axes, labels)
            return
        fixed = self.options.width is not None
        layout.fit(figure, grid, labels, height, 0 if fixed else width, square=fixed and square)

    def _beside(self, titles: Sequence[str]) -> tuple[Figure, list[Axes]]:
        """Return the figure of the given axes, and the axes among others that nobody sees."""
        if self.axes is None:
            raise TypeError("there are no axes")
        figure = self.axes.get_figure(root=True)
        if figure is None:
            raise InputError("the axes belong to no figure: take those of `plt.subplots()`")
        chosen = self._chosen(titles)
        unseen = Figure().subplots(1, len(titles), squeeze=False)[0]
        if titles[chosen]:
            self.axes.set_title(titles[chosen])
        return figure, [self.axes if k == chosen else axes for k, axes in enumerate(unseen)]

    def _chosen(self, titles: Sequence[str]) -> int:
        """Return which of the panels is drawn into given axes."""
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

    def _name(self, grid: Sequence[Axes], titles: Sequence[str], columns: int) -> None:
        """Give panels their titles, in lines that fit; columns: 0 = as they are, if they can."""
        for axes, title in zip(grid, titles, strict=True):
            if title:
                axes.set_title(self.folded(title, columns))

    def folded(self, title: str, columns: int) -> str:
        """Break a title in lines that fit above one of so many panels side by side.

        columns: 0 = leave it as it is on a page of the house's size.
        """
        if self.options.width is None and self.options.font_size is None:
            return folded(title) if columns else title
        # A letter is about half as wide as high.
        columns = max(1, columns)
        room = int(0.9 * self.wide / columns * 72 / (0.6 * style.LABELS * self.scale))
        if _FORMULA.search(title):
            return title if len(title) < 2 * room else title.replace(", ", ",\n")
        return folded(title, width=max(6, min(room, 22) if columns > 1 else room))


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
