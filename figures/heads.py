"""Which outputs compete: the one head of a study that is drawn, and its name in print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from probe.tables.rows import MetricRow, Row

AnyHeaded = TypeVar("AnyHeaded", Row, MetricRow)


def main_head(rows: Iterable[Row | MetricRow]) -> str:
    """Return the head that comes first in a table, "" if none of its rows has one."""
    return next((row.head for row in rows if row.head), "")


def of_head(rows: Sequence[AnyHeaded], head: str) -> list[AnyHeaded]:
    """Keep the rows of that head and those for which it makes no difference."""
    return [row for row in rows if row.head in ("", head)]


def noted(label: str, rows: Iterable[Row | MetricRow]) -> str:
    """Add to a label which outputs compete in these rows, unless it is those of all seen classes.

    >>> row = MetricRow(learner="er", paper="gem", metric="acc", head="multi", mean=0.9, std=0.01,
    ...                 seeds=3)
    >>> noted("Accuracy (%)", [row])
    'Accuracy (%), multi-head'
    """
    return label + _IN_PRINT.get(main_head(rows), "")


_IN_PRINT = {"multi": ", multi-head", "all": ", over all outputs"}
