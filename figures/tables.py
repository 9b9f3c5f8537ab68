"""The tables of a study as its figures draw them: under one head, with names fit for print."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from figures.appearance import distinct
from probe.errors import InputError
from probe.metrics.matrix import AccuracyMatrix
from probe.tables.cells import MOST
from probe.tables.matrices import OFFLINE, UNTRAINED
from probe.tables.rows import (
    AnyRow,
    LayerRow,
    LearnerRow,
    MetricRow,
    Row,
    StartRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.summary import mean_accuracies
from probe.tables.table_file import Cells, read_table

LEVELS = (OFFLINE, UNTRAINED)
"""Behind their features are ceiling and floor; they learn nothing task by task."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What a study has measured: a field for each of its tables, with the name of the file.

    rows: the cells of R and the PRA; no figure draws others from there. metrics: those of R. rows,
    metrics: of several heads (sets of outputs that compete) only the main one, which is the first
    in the table. layers, starts: empty where nothing was measured to compare layers with.
    """

    rows: Sequence[Row] = ()
    summary: Sequence[SummaryRow] = ()
    metrics: Sequence[MetricRow] = ()
    learners: Sequence[LearnerRow] = ()
    times: Sequence[TimeRow] = ()
    layers: Sequence[LayerRow] = ()
    starts: Sequence[StartRow] = ()

    @classmethod
    def read(cls, run_directory: Path) -> Tables:
        """Read the tables of a run directory.

        `times.csv`, `layers.csv` and `starts.csv` may be missing, as in old ones. Raises InputError
        if another table is missing, or if one cannot be read.
        """
        # One filter for each table, which goes by the first of its own lines that has a head.
        of_main_head, main_head = _main_head(), _main_head()
        return cls(
            rows=_read(
                run_directory / "rows.csv",
                Row,
                lambda cells: _of_matrix(cells) and of_main_head(cells),
            ),
            summary=_read(run_directory / "summary.csv", SummaryRow),
            metrics=_read(
                run_directory / "metrics.csv",
                MetricRow,
                lambda cells: not cells["feature"] and main_head(cells),
            ),
            learners=_read(run_directory / "learners.csv", LearnerRow),
            times=_read_if_there(run_directory / "times.csv", TimeRow),
            layers=_read_if_there(run_directory / "layers.csv", LayerRow),
            starts=_read_if_there(run_directory / "starts.csv", StartRow),
        )

    @classmethod
    def of(cls, rows: Iterable[Row], **others: Iterable[Any]) -> Tables:
        """Return tables in memory as if they had been read; others: by name."""
        main_head = _main_head()
        kept = [row for row in rows if _of_matrix(vars(row)) and main_head(vars(row))]
        parts: dict[str, list[Any]] = {"rows": kept} | {k: [*own] for k, own in others.items()}
        return cls(**{name: _plain(table) for name, table in parts.items()})

    @cached_property
    def matrices(self) -> dict[str, AccuracyMatrix]:
        """R of each continual learner, (T+1, T), by name in the order of the table.

        Each cell is the mean over seeds of the means over orders, a fraction in [0, 1]; column =
        place of the task in the executed order. Raises InputError for a table that has no such R.
        """
        found = mean_accuracies(self.rows)
        return {name: found[name] for name in found if name not in LEVELS}

    @property
    def crowded(self) -> bool:
        """Whether there are more learners than appearances, as in a large sweep of settings.

        Figures in which only a legend tells the learners apart are then not drawn.
        """
        return not distinct(row.learner for row in self.learners)

    def metric(self, paper: str, name: str) -> dict[str, MetricRow]:
        """Return the rows of one metric by learner, in the order of the table.

        paper: whose metric it is, as in the column of that name, "kemker" for example.
        """
        return {r.learner: r for r in self.metrics if (r.paper, r.metric) == (paper, name)}

    def by_bracket(self, paper: str, name: str) -> dict[str, dict[str, MetricRow]]:
        """Return the rows of name[...] by what stands in the brackets and by learner.

        Both in the order of the table.

        >>> rows = [MetricRow(learner="er", paper="chaudhry", metric=f"forgetting[{k}]", head="",
        ...                   mean=0.1, std=0.01, seeds=3) for k in (2, 3)]
        >>> list(Tables(metrics=rows).by_bracket("chaudhry", "forgetting"))
        ['2', '3']
        """
        found: defaultdict[str, dict[str, MetricRow]] = defaultdict(dict)
        for row in self.metrics:
            match = re.fullmatch(rf"{name}\[(.+)\]", row.metric) if row.paper == paper else None
            if match:
                found[match[1]][row.learner] = row
        return dict(found)

    def by_number(self, paper: str, name: str) -> dict[int, dict[str, MetricRow]]:
        """Return the rows of name[1], name[2], ... by that number, ascending, and by learner.

        Raises InputError for brackets without a whole number from 1 to MOST.
        """
        found = self.by_bracket(paper, name)
        # A damaged table could ask for an axis that is never finished.
        for number in found:
            if not re.fullmatch("[1-9][0-9]{0,5}", number) or int(number) > MOST:
                raise InputError(
                    f"the metric {name}[{number[:40]}] needs a whole number from 1 to {MOST} in "
                    f"brackets: write the tables again with `probe run`"
                )
        return {int(number): found[number] for number in sorted(found, key=int)}

    def after_last_task(self, name: str) -> tuple[int, dict[str, MetricRow]]:
        """Return T, the most tasks learned, and the rows of name[T] (Chaudhry 2018) by learner.

        T is 0, and there are no rows, where the metric was not measured. Raises InputError for a T
        that is no number.
        """
        found = self.by_number("chaudhry", name)
        T = max(found, default=0)
        return T, found.get(T, {})


def continual(rows: Iterable[SummaryRow | MetricRow | LayerRow | Row]) -> list[str]:
    """Return the learners of a table that learn task by task, in order of first appearance."""
    names = dict.fromkeys(row.learner for row in rows)
    return [name for name in names if name not in LEVELS]


def _of_matrix(cells: Cells) -> bool:
    """Whether a line of rows.csv is a cell of R, or the PRA of a feature."""
    return cells["measure"] == "pra" or (cells["measure"] == "accuracy" and not cells["feature"])


def _main_head() -> Callable[[Cells], bool]:
    """Return a filter for the lines of one table: keep the head that comes first, and no head."""
    main = ""

    def kept(cells: Cells) -> bool:
        nonlocal main
        main = main or cells["head"]
        return cells["head"] in ("", main)

    return kept


def _read_if_there(path: Path, kind: type[AnyRow]) -> list[AnyRow]:
    """Read a table that not every directory has."""
    return _read(path, kind) if path.exists() else []


def _read(
    path: Path, kind: type[AnyRow], wanted: Callable[[Cells], bool] = lambda _: True
) -> list[AnyRow]:
    """Read a table, and let every name in it be drawn as it is.

    matplotlib sets a text between two dollar signs as a formula; a backslash makes them plain.
    """
    return _plain(read_table(path, kind, wanted))


def _plain(rows: Sequence[AnyRow]) -> list[AnyRow]:
    """Return the rows of a table with plain names."""
    if not rows:
        return []
    # Annotations are strings here: these are the columns that hold any text.
    texts = [field.name for field in fields(rows[0]) if field.type == "str"]
    named = attrgetter(*texts)

    def plainly(row: AnyRow) -> AnyRow:
        cells: dict[str, Any] = {name: plain(getattr(row, name)) for name in texts}
        return replace(row, **cells)

    return [plainly(row) if "$" in "".join(named(row)) else row for row in rows]


def plain(name: str) -> str:
    """Return a name as it is in tables that have been read: matplotlib draws it as it was."""
    return name.replace("$", r"\$")
