"""Summaries of a study: means over the orders of each seed, then over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from probe.analysis.intervals import SeedMean, mean_over_seeds
from probe.errors import InputError
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN
from probe.tables.frames import to_frame
from probe.tables.rows import Measure, MeasurementRow, SummaryRow, TimeRow

MEASURES: tuple[Measure, ...] = ("pra", "f1")
"""The metrics that `summarize` keeps, in the order in which it lists them."""


class Layer(NamedTuple):
    """A feature of a learner's network, see `MeasurementRow`."""

    learner: str
    depth: int
    feature: str


class Group(NamedTuple):
    """The runs that a line of the summary averages, see `MeasurementRow`; task_position: None for `pra`."""

    learner: str
    metric: Measure
    depth: int
    feature: str
    task_position: int | None


def summarize(rows: Iterable[MeasurementRow]) -> list[SummaryRow]:
    """Return the mean and the sample standard deviation (ddof=1) over seeds of `pra` and `f1`.

    Of the readout `retrain` and of the output, each learner after its last step: 0 for `untrained`.

    A seed's score is the mean over its orders (Murata 2020, section 3); `f1` is grouped by task
    position, whatever the task. Fractions in [0, 1]; `std` is NaN for a single seed; NaN values
    were not measured and are left out. Sorted by learner (in order of first appearance), metric,
    depth and position. The order of a learner's rows does not change the result. Raises InputError
    for rows of more than one scenario or network.
    """
    table = _of_one_study(rows)
    kept = table[table["metric"].isin(MEASURES) & table["readout"].isin(["", RETRAIN])]
    last = kept.groupby("learner")["tasks_seen"].transform("max")
    # Tables of earlier versions have the last step alone, and do not name it.
    kept = kept[kept["tasks_seen"].isna() | (kept["tasks_seen"] == last).fillna(False)]
    _check(kept, "depth", 1)
    _check(kept[kept["metric"] == "f1"], "task_position", 1)
    kept = kept.assign(task_position=kept["task_position"].where(kept["metric"] == "f1", 0))
    keyed = _grouped(kept, Group._fields)
    groups = {Group._make((*key[:4], key[4] or None)): pairs for key, pairs in keyed}
    return summarize_groups(groups, table["learner"].unique().tolist())


def summarize_groups(
    groups: Mapping[Group, Iterable[tuple[int, float]]], learners: Sequence[str]
) -> list[SummaryRow]:
    """Return what `summarize` returns, from the (seed, value) pairs of each group.

    learners: in the order in which they are listed. The order of groups and pairs changes no bit.
    """

    def rank(group: Group) -> tuple[int, int, int, int]:
        metric = MEASURES.index(group.metric)
        return learners.index(group.learner), metric, group.depth, group.task_position or 0

    means = ((group, mean_over_seeds(groups[group])) for group in sorted(groups, key=rank))
    return [SummaryRow(**group._asdict(), **vars(mean)) for group, mean in means if mean]


def mean_accuracies(rows: Iterable[MeasurementRow]) -> dict[str, AccuracyMatrix]:
    """Return R of each learner, (T+1, T): each cell the mean over orders, then over seeds.

    Learners come in order of first appearance, without those that have no `accuracy` rows. T is the
    largest number of tasks or task position in a learner's rows; NaN = not measured. Rows with a feature
    belong to its own matrix A and are left out. Raises InputError for rows of more than one
    scenario or network, and for fewer cells than tasks: a single evaluation gives T.
    """
    table = _of_one_study(rows)
    table = table[(table["metric"] == "accuracy") & (table["feature"] == "")]
    _check(table, "tasks_seen", 0)
    _check(table, "task_position", 1)
    means = _means(table, ["learner", "tasks_seen", "task_position"])
    matrices = {}
    for learner, own in table.groupby("learner", sort=False):
        tasks, cells = int(own[["tasks_seen", "task_position"]].max(axis=None)), means[learner]
        # A damaged number of tasks or position could ask for a matrix of any size.
        if len(cells) < tasks:
            raise InputError(
                f"the accuracies of {learner!r} name {tasks} tasks, but have {len(cells)} cells of "
                f"R: write the tables again from the results"
            )
        values = np.full((tasks + 1, tasks), np.nan)
        for (tasks_seen, task_position), mean in cells.items():
            values[tasks_seen, task_position - 1] = mean.mean if mean else np.nan
        matrices[learner] = AccuracyMatrix(values)
    return matrices


def pra_by_step(rows: Iterable[MeasurementRow], readout: str) -> dict[Layer, dict[int, SeedMean]]:
    """Return the PRA of each learner's features by the number of tasks learned, ascending.

    Each is the mean over seeds of means over orders. readout: by which the features were read; the
    output needs none, unless it has rows of the readout, and is included. Sorted by learner (in
    order of first appearance) and depth. Rows without a step, as in tables of earlier versions, are
    left out.
    """
    table = to_frame(rows)
    own = (table["metric"] == "pra") & (table["readout"] == readout)
    other = (table["metric"] == "pra") & (table["readout"] == "")
    table = table[own | (other & ~table["feature"].isin(table["feature"][own]))]
    table = table.dropna(subset="tasks_seen")
    _check(table, "depth", 1)
    means = _means(table, [*Layer._fields, "tasks_seen"]).dropna()
    learners = table["learner"].unique().tolist()
    courses: dict[Layer, dict[int, SeedMean]] = {}
    for *layer, tasks_seen in sorted(
        means.index, key=lambda at: (learners.index(at[0]), at[1], at[3])
    ):
        courses.setdefault(Layer(*layer), {})[tasks_seen] = means[(*layer, tasks_seen)]
    return courses


def training_seconds(times: Iterable[TimeRow]) -> dict[str, float]:
    """Return the seconds of each learner's whole training: the mean over orders, then over seeds.

    A run counts once it has learned as many tasks as any other has; learners are in the order in
    which such a run first appears.

    >>> row = TimeRow(learner="er", order="0", seed=0, tasks_seen=1, seconds=1.5)
    >>> training_seconds([row, TimeRow(learner="er", order="0", seed=0, tasks_seen=2, seconds=2.5)])
    {'er': 4.0}
    """
    runs = to_frame(times, TimeRow).groupby(["learner", "order", "seed"], sort=False)
    # Python's sum, for its rounding.
    whole = runs.agg(
        tasks_seen=("tasks_seen", "max"), value=("seconds", lambda own: sum(own))
    ).reset_index()
    # An unfinished run took less time because it did less.
    whole = whole[whole["tasks_seen"] == whole["tasks_seen"].max()]
    return {name: mean.mean for name, mean in _means(whole, ["learner"]).dropna().items()}


def _means(table: pd.DataFrame, by: Sequence[str]) -> pd.Series[Any]:
    """Return the `SeedMean` of each group of rows, None where nothing was measured."""
    return _grouped(table, by).agg(mean_over_seeds)


def _grouped(table: pd.DataFrame, by: Sequence[str]) -> Any:
    """Return the pairs (seed, value) of each group of rows, in order of first appearance."""
    pairs = list(zip(table["seed"].tolist(), table["value"].tolist(), strict=True))
    column = pd.Series(pairs, index=table.index, dtype=object)
    return table.assign(pair=column).groupby(list(by), sort=False)["pair"]


def _check(table: pd.DataFrame, column: str, least: int) -> None:
    """Raise InputError for rows without a whole number that their metric needs."""
    for row in table[~(table[column] >= least).fillna(False)].to_dict("records"):
        value: Any = None if pd.isna(row[column]) else row[column]
        raise InputError(
            f"a row of metric {row['metric']!r} (learner {row['learner']!r}, seed {row['seed']}) "
            f"needs a {column} from {least}, got {value}: write the tables again from the results"
        )


def _of_one_study(rows: Iterable[MeasurementRow]) -> pd.DataFrame:
    """Return rows as a table; raises InputError unless one scenario and network gave them all."""
    table = to_frame(rows)
    studies = sorted(set(table["network"] + " on " + table["scenario"]))
    if len(studies) > 1:
        raise InputError(f"rows of different studies cannot be averaged: {', '.join(studies)}")
    return table
