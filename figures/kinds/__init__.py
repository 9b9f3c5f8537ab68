"""The figures of a study, one module each; a module of this folder is found by its name.

A figure's module has

- `draw(tables: Tables, page: Page) -> Figure | None`, decorated with `on_page`: None where there is
  nothing to draw, and, if its legend tells learners apart, where there are too many of them
  (`tables.crowded`);
- `names(tables) -> list[str]`, the learners whose appearances it takes from the page;
- `caption(tables, page) -> str`, a paragraph for a paper;
- `NEEDS`, the least that there has to be, for messages;
- `TABLES`, the fields of `Tables` that it draws, for messages; `learners` among them if its legend
  tells learners apart;
- `ORDER`, a number, its place among the figures; without it, it comes last.

`TABLES` and `ORDER` are read from the source, as matplotlib takes half a second to import: write
them as plain values. Most figures are made in five steps, with the modules above this folder:

1. take the data from `tables`, and return None if they are too few;
2. begin a figure with so many panels: `page.panels`;
3. draw into each panel, learners by their appearance: `lines`, `page.looks`;
4. add a legend above the panels that explains points and bars: `page.legend`, `labels`;
5. label the axes and give the panels their size: `page.fit`.

The page is one of ours or the axes of a user's figure: a figure does not know which.
"""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def _plain_values(path: Path) -> dict[str, Any]:
    """Return TABLES and ORDER of a module, from its source."""
    assignments = (node for node in ast.parse(path.read_text("utf-8")).body)
    return {
        target.id: ast.literal_eval(node.value)
        for node in assignments
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in ("TABLES", "ORDER")
    }


def _found() -> dict[str, tuple[str, ...]]:
    """Return the tables of each module of this folder, in order."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    values = {path.stem: _plain_values(path) for path in files}
    order = sorted(values, key=lambda name: values[name].get("ORDER", len(values) + 1))
    return {name: values[name]["TABLES"] for name in order}


KINDS: Mapping[str, tuple[str, ...]] = _found()
"""Each figure, by the name of its module, with the fields of `Tables` that it draws."""
