"""The figures of a study, one module for each, which is found by its name.

A figure's module has

- `draw(tables: StudyTables, page: Page) -> Figure | None`: None if there is nothing to
  draw or, for a legend that tells learners apart, if there are too many of them
  (`tables.crowded`);
- `QUESTION`, the question in the title, which the figure answers;
- `NEEDS`, the least data that it needs, for messages;
- `TABLES`, the fields of `StudyTables` that it draws, for messages; `learners` among
  them if its legend tells learners apart.

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

from pathlib import Path

_OURS = (
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
# By their files, as matplotlib takes half a second to import.
_FILES = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))

KINDS = (*_OURS, *(name for name in _FILES if name not in _OURS))
"""Each figure, by the name of its module: in this order, one that is not named here at the end."""
