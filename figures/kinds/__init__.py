"""The figures of a study, one module each.

To add one, write a module here with `draw(tables: Tables) -> Figure | None`, which returns None
where there is nothing to draw, and add its name to `KINDS`.
"""

from __future__ import annotations

KINDS = {
    "depth": ("summary", "learners"),
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
"""Each figure, by the name of its module, with the fields of `Tables` that it draws."""
