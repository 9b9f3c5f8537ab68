"""Tables of a study as figures draw them: a single head, and printable names."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from figures.appearance import distinct
from probe.analysis.intervals import half_width
from probe.analysis.statements import WITHHELD
from probe.arrays import Bools
from probe.errors import printable
from probe.files import recorded_hashes
from probe.immutable import immutable
from probe.metrics.matrix import AccuracyMatrix
from probe.tables.matrices import mean_matrices
from probe.tables.schemas import CONTROLS
from probe.tables.summary import seed_means
from probe.tables.table_file import new_table, read_table, table_file, where

OPTIONAL = ("layers", "statements", "diagnostics", "causes", "notes")
"""Tables that not every source has."""

FeatureByDepth = dict[int, str]
"""Names of features by depth, from 1."""


def _table(name: str) -> Any:
    """Return a field whose default is the table of this name without rows."""
    return field(default_factory=partial(new_table, name))


@immutable(eq=False)
class StudyTables:
    """The tables of a study as DataFrames: one field for each, with the name of its file.

    `measurements` has only accuracies and PRA. If there are several heads (sets of
    outputs that compete), `measurements` and `metrics` have only the main one, which
    comes first in the table. `layers` and `statements` are empty if layers were not
    compared with a control.
    """

    measurements: pd.DataFrame = _table("measurements")
    summary: pd.DataFrame = _table("summary")
    metrics: pd.DataFrame = _table("metrics")
    learners: pd.DataFrame = _table("learners")
    layers: pd.DataFrame = _table("layers")
    statements: pd.DataFrame = _table("statements")
    diagnostics: pd.DataFrame = _table("diagnostics")
    causes: pd.DataFrame = _table("causes")
    notes: pd.DataFrame = _table("notes")

    @classmethod
    def read(cls, run_directory: Path) -> Self:
        """Read the tables of a run directory; those in `OPTIONAL` may be missing.

        Raises:
            InputError: Another table is missing, or a table cannot be read.
        """
        written = recorded_hashes(run_directory)
        tables = {}
        for column in fields(cls):
            name = column.name
            path = table_file(run_directory, name)
            is_needed = name not in OPTIONAL or f"{name}.csv" in written
            if is_needed or path.exists():
                tables[name] = read_table(path, name)
        return cls.of(**tables)

    @classmethod
    def of(cls, **tables: pd.DataFrame) -> Self:
        """Return the rows of tables that are drawn, names escaped for matplotlib (`plain`)."""
        drawn = {}
        for name, table in tables.items():
            rows = _drawn_rows(name, table).copy()
            for column, texts in rows.select_dtypes("string").items():
                plain_of = {text: plain(text) for text in texts.unique()}
                rows[column] = texts.map(plain_of).astype(texts.dtype)
            drawn[name] = rows
        return cls(**drawn)

    @cached_property
    def matrices(self) -> dict[str, AccuracyMatrix]:
        """R of each continual learner, (T+1, T), by name in the order of the table.

        Each cell is the mean over seeds of the means over orders, a fraction in [0, 1];
        columns are task positions in the executed order. Raises InputError if the table
        does not hold such an R.
        """
        matrices = mean_matrices(self.measurements)
        return {name: R for name, R in matrices.items() if name not in CONTROLS}

    @cached_property
    def task_names(self) -> dict[int, str]:
        """The names of tasks by position; empty for several orders, in which positions differ."""
        rows = self.measurements[self.measurements["order"] != ""]
        if rows["order"].nunique() != 1:
            return {}
        rows = rows.dropna(subset="task_position")
        names = rows.set_index("task_position")["task"].sort_index()
        return dict(names.items())

    @property
    def position_label(self) -> str:
        """The label of an axis of task positions."""
        return "Task, in the one order learned" if self.task_names else "Task position"

    @cached_property
    def seed_errors(self) -> list[float]:
        """Half the 95 % intervals over seeds of R's cells of learned tasks, ascending."""
        rows = where(self.measurements, metric="accuracy", feature="")
        is_learned = (rows["task_position"] <= rows["tasks_seen"]).fillna(False)
        rows = rows[is_learned & (rows["order"] != "")]
        means = seed_means(rows, "learner", "tasks_seen", "task_position")
        return sorted(half_widths(means).dropna())

    def impossible(self, R: AccuracyMatrix) -> Bools:
        """Return the cells of R, (T+1, T), that are 0 by construction.

        With a single head, the classes of future tasks compete for no example.
        """
        tasks_seen, index = np.indices(R.values.shape)
        is_to_come = (tasks_seen > 0) & (tasks_seen <= index)
        is_single = bool((self.measurements["head"] == "single").any())
        zero: Bools = (R.values == 0) & is_to_come & is_single
        return zero

    @property
    def crowded(self) -> bool:
        """Whether there are more learners than appearances, as in a large sweep.

        Figures in which only a legend tells the learners apart are not drawn then.
        """
        return not distinct(self.learners["learner"])

    def metric(self, paper: str, name: str) -> pd.DataFrame:
        """Return the rows of one metric of a paper, by learner in the order of the table.

        Args:
            paper: The paper.
            name: The metric.

        Returns:
            The rows, indexed by learner.
        """
        rows = where(self.metrics, paper=paper, metric=name)
        return rows.set_index("learner", drop=False).rename_axis(None)

    def by_number(self, paper: str, name: str) -> pd.DataFrame:
        """Return the rows of the metrics name[1], name[2], ..., by number, in the column `number`.

        Args:
            paper: The paper.
            name: The metric's name before the brackets.

        >>> rows = [("er", "chaudhry", f"forgetting[{k}]", "", 0.1, 0.01, 3) for k in (10, 9)]
        >>> metrics = new_table("metrics", [(*row, "", "") for row in rows])
        >>> list(StudyTables(metrics=metrics).by_number("chaudhry", "forgetting")["number"])
        [9, 10]
        """
        rows = where(self.metrics, paper=paper)
        pattern = rf"^{re.escape(name)}\[(\d+)\]$"
        number = rows["metric"].str.extract(pattern, expand=False)
        rows = rows.assign(number=number).dropna(subset="number")
        return rows.astype({"number": int}).sort_values("number", kind="stable")

    def after_last_task(self, name: str) -> tuple[int, pd.DataFrame]:
        """Return T, the most tasks learned, and the rows of name[T] (Chaudhry 2018) by learner.

        T is 0, and there are no rows, where the metric was not measured.
        """
        T = int(max(self.by_number("chaudhry", name)["number"], default=0))
        return T, self.metric("chaudhry", f"{name}[{T}]")


def unjudged(statements: pd.DataFrame, learner: str, readout: str) -> set[str]:
    """Return the features of a learner whose statements by a readout are withheld."""
    rows = where(statements, verdict=WITHHELD, learner=learner, readout=readout)
    return set(rows["feature"])


def continual(rows: pd.DataFrame) -> list[str]:
    """Return the learners of a table that learn task by task, in order of first appearance."""
    return [name for name in rows["learner"].unique() if name not in CONTROLS]


def architectures(summary: pd.DataFrame) -> list[tuple[FeatureByDepth, list[str]]]:
    """Return the features of each architecture, and the continual learners that train it.

    Learners share an architecture if their features agree in names and depths. The
    learners with the most measured features are grouped first; a learner with fewer
    joins the first group that its features agree with.

    Args:
        summary: The rows of one metric, such as PRA. Architectures are returned in the
            order in which their learners first appear there.
    """
    features_of = {}
    for name, rows in summary.groupby("learner", sort=False):
        features_of[name] = rows.set_index("depth")["feature"].to_dict()
    groups: list[tuple[FeatureByDepth, list[str]]] = []
    # The learners with the most features first.
    for name in sorted(features_of, key=lambda name: -len(features_of[name])):
        for features, learners in groups:
            if _agree(features, features_of[name]):
                features.update(features_of[name])
                learners.append(name)
                break
        # No group agrees with this learner.
        else:
            groups.append((features_of[name], [name]))
    order = continual(summary)
    result = []
    for features, learners in groups:
        # Features that only Offline has belong to no continual learner.
        if names := [name for name in order if name in learners]:
            result.append((dict(sorted(features.items())), names))
    return sorted(result, key=lambda group: order.index(group[1][0]))


def _agree(first: Mapping[int, str], second: Mapping[int, str]) -> bool:
    """Return whether depths and names correspond one to one in both together."""
    pairs = first.items() | second.items()
    names = {name for _, name in pairs}
    return len(dict(pairs)) == len(pairs) == len(names)


_SHOWN: Mapping[str, Mapping[str, Any]] = {
    "measurements": {"metric": ("accuracy", "pra")},
    "metrics": {"feature": ""},
}


def _drawn_rows(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that are drawn: accuracies, PRA, and the head that comes first."""
    if name not in _SHOWN:
        return table
    rows = where(table, **_SHOWN[name])
    first_head = next(filter(None, rows["head"]), "")
    return where(rows, head=["", first_head])


def differ(values: Iterable[float]) -> bool:
    """Return whether values differ by more than rounding."""
    return len({round(value, 9) for value in values}) > 1


def half_widths(rows: pd.DataFrame) -> pd.Series:
    """Return half the 95 % intervals of means over seeds, NaN for a single seed."""
    halves = [half_width(row.std, row.seeds) for row in rows.itertuples()]
    return pd.Series(halves, rows.index, float)


def plain(name: str) -> str:
    """Escape dollar signs in a name: matplotlib would set a formula between two of them."""
    return printable(name).replace("$", r"\$")
