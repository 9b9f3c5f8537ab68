"""Tables of a study in the form that figures draw: a single head, and printable names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from figures.appearance import distinct
from probe.analysis.intervals import mean_over_seeds
from probe.metrics.matrix import AccuracyMatrix
from probe.tables import rows as row_kinds
from probe.tables.matrices import mean_accuracies
from probe.tables.rows import CONTROLS, MeasurementRow, MetricRow, SummaryRow, grouped
from probe.tables.table_file import Cells, read_table, table_file

OPTIONAL = ("times", "layers", "statements", "first_layer", "diagnostics", "notes")
"""Tables that not every source has."""

FeatureByDepth = dict[int, str]
"""Names of features by depth, from 1."""


@dataclass(frozen=True, kw_only=True)
class StudyTables:
    """Tables of a study, a field for each, with the name of its file.

    `measurements` has only the cells of R and the PRA. Of several heads (sets of outputs that
    compete), `measurements` and `metrics` have only the main one, which comes first in the table.
    `layers`, `statements` and `first_layer` are empty if layers were compared with no control.
    """

    measurements: Sequence[MeasurementRow] = ()
    summary: Sequence[SummaryRow] = ()
    metrics: Sequence[MetricRow] = ()
    learners: Sequence[row_kinds.LearnerRow] = ()
    times: Sequence[row_kinds.TimeRow] = ()
    layers: Sequence[row_kinds.LayerRow] = ()
    statements: Sequence[row_kinds.StatementRow] = ()
    first_layer: Sequence[row_kinds.FirstLayerRow] = ()
    diagnostics: Sequence[row_kinds.DiagnosticRow] = ()
    notes: Sequence[row_kinds.NoteRow] = ()

    @classmethod
    def read(cls, run_directory: Path) -> Self:
        """Read the tables of a run directory; those in `OPTIONAL` may be missing.

        Raises:
            InputError: Another table is missing, or a table cannot be read.
        """
        tables = {}
        for name, row_types in get_type_hints(cls).items():
            path = table_file(run_directory, name)
            if path.exists() or name not in OPTIONAL:
                rows = read_table(path, get_args(row_types)[0], _filter(name))
                tables[name] = _with_plain_names(rows)
        return cls(**tables)

    @classmethod
    def of(cls, measurements: Iterable[MeasurementRow], **tables: Iterable[Any]) -> Self:
        """Return tables in memory as if they had been read."""
        is_drawn = _filter("measurements")
        tables["measurements"] = [row for row in measurements if is_drawn(vars(row))]
        return cls(**{name: _with_plain_names(rows) for name, rows in tables.items()})

    @cached_property
    def unjudged(self) -> set[tuple[str, str, str]]:
        """Learner, readout and feature of layers that are not judged, but for too few seeds."""
        verdicts = ("not converged", "near chance", "no ceiling")
        rows = (row for row in self.statements if row.verdict in verdicts)
        return {(row.learner, row.readout, row.feature) for row in rows}

    @cached_property
    def matrices(self) -> dict[str, AccuracyMatrix]:
        """R of each continual learner, (T+1, T), by name in the order of the table.

        Each cell is the mean over seeds of the means over orders, a fraction in [0, 1]; columns are
        task positions in the executed order. Raises InputError for a table that has no such R.
        """
        matrices = mean_accuracies(self.measurements)
        return {name: R for name, R in matrices.items() if name not in CONTROLS}

    @cached_property
    def task_names(self) -> dict[int, str]:
        """Names of the tasks by position; empty for several orders, in which positions differ."""
        rows = [row for row in self.measurements if row.order]
        names = {row.task_position: row.task for row in rows if row.task_position}
        return dict(sorted(names.items())) if len({row.order for row in rows}) == 1 else {}

    @property
    def position_label(self) -> str:
        """Label of an axis of task positions."""
        return "Task, in the one order learned" if self.task_names else "Task position"

    @cached_property
    def seed_deviations(self) -> list[float]:
        """Standard deviations over seeds of R's cells of learned tasks, ascending, if any."""
        rows = (row for row in self.measurements if row.metric == "accuracy" and row.order)
        learned = (r for r in rows if 0 < (r.task_position or 0) <= (r.tasks_seen or 0))
        cells = grouped(learned, "learner", "tasks_seen", "task_position").values()
        means = [mean_over_seeds((row.seed, row.value) for row in cell) for cell in cells]
        return sorted(mean.std for mean in means if mean and mean.std >= 0)

    def impossible(self, R: AccuracyMatrix) -> NDArray[np.bool_]:
        """Return the cells of R, (T+1, T), that are 0 by construction.

        With a single head, the classes of tasks that are still to come compete for no example.
        """
        single = any(row.head == "single" for row in self.measurements)
        tasks_seen, index = np.indices(R.values.shape)
        zero: NDArray[np.bool_] = (R.values == 0) & (tasks_seen > 0) & (tasks_seen <= index)
        return zero & single

    @property
    def crowded(self) -> bool:
        """Whether there are more learners than appearances, as in a large sweep.

        Figures in which only a legend tells the learners apart are then not drawn.
        """
        return not distinct(row.learner for row in self.learners)

    def metric(self, paper: str, name: str) -> dict[str, MetricRow]:
        """Return the rows of one metric of a paper by learner, in the order of the table.

        Args:
            paper: The paper.
            name: The metric.

        Returns:
            The rows by learner.
        """
        return {r.learner: r for r in self.metrics if (r.paper, r.metric) == (paper, name)}

    def by_bracket(self, paper: str, name: str) -> dict[str, dict[str, MetricRow]]:
        """Return the rows of the metrics name[...], in the order of the table.

        Args:
            paper: The paper.
            name: The metric's name before the brackets.

        Returns:
            The rows by the text in the brackets and by learner.

        >>> rows = [MetricRow(learner="er", paper="chaudhry", metric=f"forgetting[{k}]", head="",
        ...                   mean=0.1, std=0.01, seeds=3) for k in (2, 3)]
        >>> list(StudyTables(metrics=rows).by_bracket("chaudhry", "forgetting"))
        ['2', '3']
        """
        rows: defaultdict[str, dict[str, MetricRow]] = defaultdict(dict)
        for row in self.metrics:
            match = re.fullmatch(rf"{name}\[(.+)\]", row.metric) if row.paper == paper else None
            if match:
                rows[match[1]][row.learner] = row
        return dict(rows)

    def by_number(self, paper: str, name: str) -> dict[int, dict[str, MetricRow]]:
        """Return the rows of the metrics name[1], name[2], ...

        Args:
            paper: The paper.
            name: The metric's name before the brackets.

        Returns:
            The rows by the number in the brackets, ascending, and by learner.
        """
        rows = self.by_bracket(paper, name)
        return {int(text): rows[text] for text in sorted(filter(str.isdecimal, rows), key=int)}

    def after_last_task(self, name: str) -> tuple[int, dict[str, MetricRow]]:
        """Return T, the most tasks learned, and the rows of name[T] (Chaudhry 2018) by learner.

        T is 0, and there are no rows, where the metric was not measured.
        """
        rows = self.by_number("chaudhry", name)
        T = max(rows, default=0)
        return T, rows.get(T, {})


def continual(rows: Iterable[Any]) -> list[str]:
    """Return the learners of a table that learn task by task, in order of first appearance."""
    return [name for name in dict.fromkeys(row.learner for row in rows) if name not in CONTROLS]


def architectures(summary: Sequence[SummaryRow]) -> list[tuple[FeatureByDepth, list[str]]]:
    """Return the features of each architecture, and the continual learners that train it.

    Learners share an architecture if their features agree in names and depths. A learner with only
    some features measured belongs to the first architecture with which these agree; so those with
    more features come first.

    Args:
        summary: The rows of one metric, PRA for example; architectures follow their order.
    """
    features_of: defaultdict[str, FeatureByDepth] = defaultdict(dict)
    for row in summary:
        features_of[row.learner][row.depth] = row.feature
    groups: list[tuple[FeatureByDepth, list[str]]] = []
    for name in sorted(features_of, key=lambda name: -len(features_of[name])):
        agreeing = (group for group in groups if _agree(group[0], features_of[name]))
        features, learners = group = next(agreeing, ({}, []))
        if not learners:
            groups.append(group)
        features.update(features_of[name])
        learners.append(name)
    order = continual(summary)
    ordered = [
        (dict(sorted(features.items())), [name for name in order if name in learners])
        for features, learners in groups
    ]
    # Features of only Offline are of no continual learner.
    return sorted((pair for pair in ordered if pair[1]), key=lambda pair: order.index(pair[1][0]))


def _agree(first: Mapping[int, str], second: Mapping[int, str]) -> bool:
    """Return whether every depth has one name in both, and every name one depth."""
    pairs = {*first.items(), *second.items()}
    return len({depth for depth, _ in pairs}) == len(pairs) == len({name for _, name in pairs})


def _filter(table: str) -> Callable[[Cells], bool]:
    """Return a filter for the lines of a table: those of R, of the head that comes first.

    Lines without a head pass, too.
    """
    main_head = ""

    def is_drawn(cells: Cells) -> bool:
        nonlocal main_head
        metric = cells["metric"] if table == "measurements" else "accuracy"
        if metric != "pra" and (metric != "accuracy" or cells["feature"]):
            return False
        main_head = main_head or cells["head"]
        return cells["head"] in ("", main_head)

    return is_drawn if table in ("measurements", "metrics") else lambda _: True


def _with_plain_names(rows: Iterable[Any]) -> list[Any]:
    """Return the rows of a table with names that matplotlib draws as they are."""
    escaped = []
    for row in rows:
        names = {k: plain(v) for k, v in vars(row).items() if isinstance(v, str) and "$" in v}
        escaped.append(replace(row, **names) if names else row)
    return escaped


def differ(values: Iterable[float]) -> bool:
    """Return whether values are not all the same, but for rounding."""
    return len({round(value, 9) for value in values}) > 1


def plain(name: str) -> str:
    """Return a name with its dollar signs escaped, between which matplotlib sets a formula."""
    return name.replace("$", r"\$")
