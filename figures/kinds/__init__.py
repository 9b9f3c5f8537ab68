"""The figures of a study, one module each.

Each draws one picture from the tables and computes nothing but what its axes need.

To add one, write a module here with `draw(tables: Tables) -> Figure | None`, decorated with
`style.house_style()`, and add its name to `KINDS`. It returns None where there is nothing to draw,
and, if a legend tells its learners apart, where there are too many of them (`tables.crowded`). Most
are made in five steps, with the modules above this folder:

1. take what is drawn out of the `tables`, and return None if it is too little;
2. begin a figure with so many panels: `layout.panels`;
3. draw into each, learners as their appearance tells: `lines`, `appearance`;
4. put a legend above them that says what points and bars are: `lines.legend_above`, `labels`;
5. label the axes and give the panels their size: `layout.fit`.
"""

from __future__ import annotations

KINDS = {
    "depth": ("summary", "learners", "layers", "starts"),
    "layers": ("layers", "starts"),
    "time": ("rows",),
    "bias": ("summary", "learners"),
    "matrix": ("rows",),
    "curves": ("rows",),
    "tasks": ("rows", "learners"),
    "sessions": ("metrics", "learners"),
    "omegas": ("metrics",),
    "costs": ("metrics", "learners", "times"),
    "tradeoff": ("metrics", "learners"),
    "memory": ("metrics", "learners"),
    "sampling": ("metrics", "learners"),
    "spider": ("metrics", "learners"),
    "scores": ("metrics", "learners"),
}
"""Each figure, by the name of its module, with the fields of `Tables` that it draws.

It is drawn again if one of these tables has changed. All in which a legend tells learners apart
look at `learners`, for whether there are too many of them.
"""
