"""The figures of a study, one module each.

Each draws one picture from the study's tables and computes nothing but what its axes need. To add
one, write a module here with `draw(tables: Tables) -> Figure | None`, which returns None where
there is nothing to draw, and add its name to `KINDS`. What the figures share is in `figures.layout`
(panels and sizes), `figures.lines` (marks and legends), `figures.labels` (text) and
`figures.appearance` (a learner looks the same in all of them).
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
