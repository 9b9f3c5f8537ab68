"""The figures of a study, a module for each or for two that are alike, found by its name.

A figure's module has

- `draw(tables: StudyTables, page: Page) -> Figure | None`: None if there is nothing to
  draw or, for a legend that tells learners apart, if there are too many of them
  (`tables.crowded`);
- `QUESTION`, the question in the title, which the figure answers;
- `NEEDS`, the least data that it needs, for messages;
- `TABLES`, the fields of `StudyTables` that it draws, for messages; `learners` among
  them if its legend tells learners apart.

A module of two figures that differ by an argument has a `Kind` of each figure's name
instead.

Most figures are made in six steps, with the modules above this folder:

1. take the data from `tables`, and return None if they are too few;
2. begin a figure with the number of panels: `page.panels`;
3. draw into each panel, learners by their appearance: `lines`, `page.appearances`;
4. add a legend above the panels that explains points and bars: `page.legend`,
    `captions`;
5. describe the figure, its data, network and learners, and its marks: `page.describe`;
6. label the axes and give the panels their size: `page.fit`.

The page is one of our own, or the axes of a user's figure: the module cannot tell
which.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from figures.page import Page
    from figures.tables import StudyTables


class Kind(NamedTuple):
    """A figure of a module with two figures: what other modules have as attributes."""

    draw: "Callable[[StudyTables, Page], Figure | None]"
    QUESTION: str
    NEEDS: str
    TABLES: tuple[str, ...]


_OURS = (
    "answer",
    "causes",
    "depth",
    "layers",
    "time",
    "bias",
    "budget",
    "repair",
    "diagnostics",
    "matrix",
    "sessions",
    "omegas",
    "tradeoff",
    "memory",
    "sampling",
    "spider",
    "fixed",
)
_JOINED = {"repair": "budget", "fixed": "sessions", "sampling": "memory"}
# By their files, as matplotlib takes half a second to import.
_FILES = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))

KINDS = (*_OURS, *(name for name in _FILES if name not in _OURS))
"""Each figure by its name: in this order, one that is not named here at the end."""

MODULES = dict(zip(KINDS, KINDS, strict=True)) | _JOINED
"""The module of each figure."""
