"""Tables of a study in the form that figures draw: a single head, and printable names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from figures.appearance import distinct
from probe.analysis.intervals import mean_over_seeds
from probe.metrics.matrix import AccuracyMatrix
from probe.tables.matrices import OFFLINE, UNTRAINED, mean_accuracies
from probe.tables.rows import (
    DiagnosticRow,
    FirstLayerRow,
    LayerRow,
    LearnerRow,
    MeasurementRow,
    MetricRow,
    NoteRow,
    StatementRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.table_file import Cells, read_table, table_file

CONTROLS = (OFFLINE, UNTRAINED)
"""Ceiling and floor are measured in their features; they learn nothing task by task."""

OPTIONAL = ("times", "layers", "statements", "first_layer", "diagnostics", "notes")
"""Tables that not every source has."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Tables of a study, a field for each, with the name of its file.

    rows: the cells of R and the PRA; no figure draws others from there. metrics: those of R. rows,
    metrics: of several heads (sets of outputs that compete) only the main one, which comes first in
    the table. layers, statements, starts: empty where layers were compared with no control.
    diagnostics: of features, without any readout; notes: on doubtful runs.
    """

    measurements: Sequence[MeasurementRow] = ()
    summary: Sequence[SummaryRow] = ()
    metrics: Sequence[MetricRow] = ()
    learners: Sequence[LearnerRow] = ()
    times: Sequence[TimeRow] = ()
    layers: Sequence[LayerRow] = ()
    statements: Sequence[StatementRow] = ()
    first_layer: Sequence[FirstLayerRow] = ()
    diagnostics: Sequence[DiagnosticRow] = ()
    notes: Sequence[NoteRow] = ()

    @cached_property
    def unsure(self) -> set[tuple[str, str, str]]:
        """Learner, readout and feature of layers that are not judged, but for too few seeds."""
        withheld = ("not converged", "near chance", "no ceiling")
        rows = (row for row in self.statements if row.verdict in withheld)
        return {(row.learner, row.readout, row.feature) for row in rows}

    @classmethod
    def read(cls, run_directory: Path) -> Self:
        """Read the tables of a run directory.

        Those in OPTIONAL may be missing. Raises InputError if another one is, or if one cannot be
        read.
        """
        found = {}
        for name, rows in get_type_hints(cls).items():
            path = table_file(run_directory, name)
            if path.exists() or name not in OPTIONAL:
                found[name] = _plain(read_table(path, get_args(rows)[0], _filter(name)))
        return cls(**found)

    @classmethod
    def of(cls, rows: Iterable[MeasurementRow], **others: Iterable[Any]) -> Self:
        """Return tables in memory as if they had been read; others: by name."""
        kept = _filter("measurements")
        tables = {"measurements": [row for row in rows if kept(vars(row))], **others}
        return cls(**{name: _plain(list(table)) for name, table in tables.items()})

    @cached_property
    def matrices(self) -> dict[str, AccuracyMatrix]:
        """R of each continual learner, (T+1, T), by name in the order of the table.

        Each cell is the mean over seeds of the means over orders, a fraction in [0, 1]; columns are
        task positions in the executed order. Raises InputError for a table that has no such R.
        """
        found = mean_accuracies(self.measurements)
        return {name: found[name] for name in found if name not in CONTROLS}

    @cached_property
    def task_names(self) -> dict[int, str]:
        """Names of the tasks by position, of a single order, which cannot tell the two apart."""
        orders = {row.order for row in self.measurements} - {""}
        named = {
            row.task_position: row.task
            for row in self.measurements
            if row.task_position and row.order
        }
        return dict(sorted(named.items())) if len(orders) == 1 else {}

    @property
    def positions(self) -> str:
        """Label of an axis of task positions."""
        return "Task, in the one order learned" if self.task_names else "Task position"

    @cached_property
    def spread(self) -> list[float]:
        """Standard deviations over seeds of R's cells of learned tasks, ascending, if any."""
        cells = defaultdict[tuple[str, int, int], list[tuple[int, float]]](list)
        for row in self.measurements:
            if (
                row.metric == "accuracy"
                and row.order
                and 0 < (row.task_position or 0) <= row.tasks_seen
            ):
                cells[row.learner, row.tasks_seen, row.task_position or 0].append(
                    (row.seed, row.value)
                )
        found = filter(None, map(mean_over_seeds, cells.values()))
        return sorted(mean.std for mean in found if mean.std >= 0)

    def impossible(self, R: AccuracyMatrix) -> NDArray[np.bool_]:
        """Return the cells of R, (T+1, T), that are 0 by construction.

        With a single head, the classes of tasks that are still to come compete for no example.
        """
        single = any(row.head == "single" for row in self.measurements)
        steps, places = np.indices(R.values.shape)
        void: NDArray[np.bool_] = (R.values == 0) & (steps > 0) & (steps <= places)
        return void & single

    @property
    def crowded(self) -> bool:
        """Tell whether there are more learners than appearances, as in a large sweep.

        Figures in which only a legend tells the learners apart are then not drawn.
        """
        return not distinct(row.learner for row in self.learners)

    def metric(self, paper: str, name: str) -> dict[str, MetricRow]:
        """Return the rows of one metric by learner, in the order of the table.

        paper: the metric's source, as in the column of that name, "kemker" for example.
        """
        return {r.learner: r for r in self.metrics if (r.paper, r.metric) == (paper, name)}

    def by_bracket(self, paper: str, name: str) -> dict[str, dict[str, MetricRow]]:
        """Return the rows of name[...] by the text in the brackets and by learner.

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
        """Return the rows of name[1], name[2], ... by that number, ascending, and by learner."""
        found = self.by_bracket(paper, name)
        numbers = sorted(filter(str.isdecimal, found), key=int)
        return {int(number): found[number] for number in numbers}

    def after_last_task(self, name: str) -> tuple[int, dict[str, MetricRow]]:
        """Return T, the most tasks learned, and the rows of name[T] (Chaudhry 2018) by learner.

        T is 0, and there are no rows, where the metric was not measured.
        """
        found = self.by_number("chaudhry", name)
        T = max(found, default=0)
        return T, found.get(T, {})


def continual(
    rows: Iterable[SummaryRow | MetricRow | LayerRow | DiagnosticRow | MeasurementRow],
) -> list[str]:
    """Return the learners of a table that learn task by task, in order of first appearance."""
    names = dict.fromkeys(row.learner for row in rows)
    return [name for name in names if name not in CONTROLS]


def _filter(table: str) -> Callable[[Cells], bool]:
    """Return a filter for the lines of a table: keep those of R, of the head that comes first.

    Lines without a head are kept, too.
    """
    main = ""

    def kept(cells: Cells) -> bool:
        nonlocal main
        metric = cells.get("metric", "accuracy")  # metrics are those of accuracies
        if metric != "pra" and (metric != "accuracy" or cells["feature"]):
            return False
        main = main or cells["head"]
        return cells["head"] in ("", main)

    return kept if table in ("measurements", "metrics") else lambda _: True


def _plain(rows: Sequence[Any]) -> list[Any]:
    """Return the rows of a table with names that matplotlib draws as they are."""
    found = []
    for row in rows:
        dollars = {k: v for k, v in vars(row).items() if isinstance(v, str) and "$" in v}
        found.append(replace(row, **{k: plain(v) for k, v in dollars.items()}) if dollars else row)
    return found


def differ(values: Iterable[float]) -> bool:
    """Tell whether values are not all the same, but for rounding."""
    return len({round(value, 9) for value in values}) > 1


def plain(name: str) -> str:
    """Return a name with its dollar signs escaped, between which matplotlib sets a formula."""
    return name.replace("$", r"\$")
