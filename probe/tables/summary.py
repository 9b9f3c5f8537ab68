"""Summaries of a study: means over the orders of each seed, then over seeds."""

from collections import defaultdict
from collections.abc import Iterable
from math import nan
from typing import Any, NamedTuple

import pandas as pd

from probe.analysis.intervals import SeedMean, mean_over_seeds
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.tables.frames import to_frame
from probe.tables.rows import MeasurementRow, SummaryRow, TimeRow

METRICS = ["pra", "f1"]
"""The metrics that `summarize` keeps, in the order in which it lists them."""

Scores = list[tuple[int, float]]
"""The seed and the score of runs."""


class Layer(NamedTuple):
    """A feature of a learner's network, see `MeasurementRow`."""

    learner: str
    depth: int
    feature: str


def scores_by(table: pd.DataFrame, *columns: str) -> dict[tuple[Any, ...], Scores]:
    """Return the scores of runs by the values of columns, in order of first appearance."""
    scores = defaultdict[tuple[Any, ...], Scores](list)
    cells = (table[name].tolist() for name in (*columns, "seed", "value"))
    for *key, seed, value in zip(*cells, strict=True):
        scores[*key].append((seed, value))
    return scores


def mean_over_runs(scores: Scores) -> float:
    """Return the mean over the orders of each seed, then over seeds; NaN = not measured."""
    mean = mean_over_seeds(scores)
    return mean.mean if mean else nan


def of_one_study(rows: Iterable[MeasurementRow]) -> pd.DataFrame:
    """Return rows as a DataFrame; raises InputError unless one scenario and network gave them."""
    table = to_frame(rows)
    studies = sorted(set(table["network"] + " on " + table["scenario"]))
    if len(studies) > 1:
        raise InputError(
            f"rows of different studies ({', '.join(studies)}) cannot be averaged: choose one"
        )
    return table


def require(table: pd.DataFrame, column: str) -> None:
    """Check that no cell is empty in a column that a metric needs.

    Args:
        table: The rows.
        column: The column.

    Raises:
        InputError: A cell is empty.
    """
    for metric in table["metric"][table[column].isna() | (table[column] == "")]:
        raise InputError(f"a row of metric {metric!r} needs a {column}, and has none")


def summarize(rows: Iterable[MeasurementRow]) -> list[SummaryRow]:
    """Average `pra` and `f1` of the readout `retrain` and of the output over seeds.

    Each learner's is that after its last task: 0 for `untrained`. A seed's score is the mean over
    its orders (Murata 2020, section 3); `f1` is grouped by task position, whatever the task. NaN
    values were not measured and are left out.

    Args:
        rows: Of one study; the order of a learner's rows does not change the result.

    Returns:
        The mean and the sample standard deviation (ddof=1), NaN for a single seed, of fractions in
        [0, 1]; by learner (in order of first appearance), metric, depth and position.

    Raises:
        InputError: The rows are of more than one scenario or network, or lack a depth or position.
    """
    table = of_one_study(rows)
    learners = table["learner"].unique().tolist()
    table = table[table["metric"].isin(METRICS) & table["readout"].isin(["", RETRAIN])]
    table = table[table["tasks_seen"] == table.groupby("learner")["tasks_seen"].transform("max")]
    require(table, "depth")
    require(table[table["metric"] == "f1"], "task_position")
    table = table.assign(task_position=table["task_position"].where(table["metric"] == "f1", 0))
    columns = ("learner", "metric", "depth", "task_position", "feature")
    scores = scores_by(table, *columns)
    ranked = sorted(scores, key=lambda k: (learners.index(k[0]), METRICS.index(k[1]), *k[2:4]))
    summary = []
    for learner, metric, depth, position, feature in ranked:
        if mean := mean_over_seeds(scores[learner, metric, depth, position, feature]):
            layer = {"learner": learner, "feature": feature, "depth": depth, "metric": metric}
            summary.append(SummaryRow(**layer, task_position=position or None, **vars(mean)))
    return summary


def pra_by_step(rows: Iterable[MeasurementRow], readout: str) -> dict[Layer, dict[int, SeedMean]]:
    """Return the PRA of each learner's features by the number of tasks seen, ascending.

    Args:
        rows: Of one study.
        readout: Of the features; the output needs none, unless it has rows of the readout.

    Returns:
        The means over seeds of means over orders, by learner (in order of first appearance) and
        depth.
    """
    table = to_frame(rows)
    table = table[table["metric"] == "pra"]
    features = table["feature"][table["readout"] == readout]
    without = (table["readout"] == "") & ~table["feature"].isin(features)
    table = table[(table["readout"] == readout) | without]
    require(table, "depth")
    learners = table["learner"].unique().tolist()
    scores = scores_by(table, *Layer._fields, "tasks_seen")
    courses: dict[Layer, dict[int, SeedMean]] = {}
    for key in sorted(scores, key=lambda key: (learners.index(key[0]), key[1], key[3])):
        if mean := mean_over_seeds(scores[key]):
            courses.setdefault(Layer(*key[:3]), {})[key[3]] = mean
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
    totals = runs.agg(
        tasks_seen=("tasks_seen", "max"), value=("seconds", lambda seconds: sum(seconds))
    ).reset_index()
    # An unfinished run took less time because it did less.
    complete = totals[totals["tasks_seen"] == totals["tasks_seen"].max()]
    return {learner: mean_over_runs(s) for (learner,), s in scores_by(complete, "learner").items()}
