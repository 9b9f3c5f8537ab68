"""A table of metrics, learner by learner."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probe.errors import InputError
from probe.tables.rows import MOST, MetricRow


def by_learner(metrics: Sequence[MetricRow], paper: str, metric: str) -> dict[str, MetricRow]:
    """Return the rows of one metric of a paper by learner, in order of the table."""
    return {row.learner: row for row in metrics if (row.paper, row.metric) == (paper, metric)}


def bracketed(metrics: Sequence[MetricRow], paper: str, name: str) -> list[str]:
    """Return what stands in brackets after a metric's name, each once, in order of the table.

    >>> rows = [MetricRow(learner="er", paper="chaudhry", metric=f"forgetting[{k}]", head="single",
    ...                   mean=0.1, std=0.01, seeds=3) for k in (2, 3)]
    >>> bracketed(rows, "chaudhry", "forgetting")
    ['2', '3']
    """
    found = [
        match[1]
        for row in metrics
        if row.paper == paper and (match := re.fullmatch(rf"{name}\[(.+)\]", row.metric))
    ]
    return list(dict.fromkeys(found))


def numbered(metrics: Sequence[MetricRow], paper: str, name: str) -> list[int]:
    """Return the numbers in brackets after a metric's name, each once, from the least to the most.

    Raises InputError for what is none from 1 to MOST.
    """
    found = bracketed(metrics, paper, name)
    for number in found:
        if not re.fullmatch("[1-9][0-9]{0,5}", number) or int(number) > MOST:
            raise InputError(
                f"the metric {name}[{number[:40]}] needs a whole number from 1 to {MOST} in "
                f"brackets: write the tables again with `probe run`"
            )
    return sorted(map(int, found))


def final(metrics: Sequence[MetricRow], name: str) -> tuple[int, dict[str, MetricRow]]:
    """Return T, the most tasks learned, and Chaudhry's metric name[T] by learner; 0 if none is.

    Raises InputError for a T that is no number.
    """
    last = max(numbered(metrics, "chaudhry", name), default=0)
    return last, by_learner(metrics, "chaudhry", f"{name}[{last}]")
