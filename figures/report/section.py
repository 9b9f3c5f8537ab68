"""A question of a report with its figures, and words that all of them share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from figures.appearance import learner_appearances
from probe.tables.folder import Tables
from probe.tables.matrices import Matrices
from probe.tables.rows import LayerRow
from probe.tables.statement_text import points

FIRST = "linear"
"""The readout that is shown first, where it was measured."""

ALL = "all"
"""The step of what is shown after all tasks."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A view of one learner and readout, empty where it is of all of them.

    run: the name of the run, empty where the report is of one; title: of what else it is; step: the
    tasks learned, empty where a reader cannot choose.
    """

    run: str = ""
    learner: str = ""
    readout: str = ""
    title: str = ""
    tasks_seen: str = ""
    view: Any


@dataclass(frozen=True, kw_only=True)
class Section:
    """A question, with a caption that says what is drawn, and its views.

    more: further views, folded under the line `folded`.
    """

    name: str
    question: str
    caption: str
    shown: Sequence[Shown]
    folded: str = ""
    more: Sequence[Shown] = ()


Question = Callable[[Tables, Matrices], Section]
"""Asks the tables of a run, with the matrices of its rows."""


def label(learner: str) -> str:
    """Return a learner's name in print."""
    return learner_appearances([learner])[learner].label


def interval(row: LayerRow | None) -> str:
    """Return a quantity in points, with its interval where it has one; a dash for none."""
    if row is None or math.isnan(row.value):
        return "-"
    value = points(row.value)
    return value if math.isnan(row.low) else f"{value} [{points(row.low)}, {points(row.high)}]"
