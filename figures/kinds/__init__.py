"""The figures of a study, one module each.

Each draws one picture from the tables and computes nothing but what its axes need.

To add one, write a module here with

- `draw(tables: Tables, page: Page) -> Figure | None`, decorated with `on_page`, which returns None
  where there is nothing to draw, and, if a legend tells its learners apart, where there are too
  many of them (`tables.crowded`);
- `names(tables) -> list[str]`, the learners whose appearances it asks the page for;
- `caption(tables, page) -> str`, a paragraph for a paper, and `NEEDS`, what there has to be;

and add its name to `KINDS`, and to `figures/__init__.py`. Most are made in five steps, with the
modules above this folder:

1. take what is drawn out of the `tables`, and return None if it is too little;
2. begin a figure with so many panels: `page.panels`;
3. draw into each, learners as their appearance tells: `lines`, `page.looks`;
4. put a legend above them that says what points and bars are: `page.legend`, `labels`;
5. label the axes and give the panels their size: `page.fit`.

The page is one of ours or the axes of a user's figure: a kind does not know which.
"""

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
