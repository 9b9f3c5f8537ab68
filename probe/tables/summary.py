"""Summaries of a study: means over the orders of each seed, then over seeds."""

from collections import defaultdict
from collections.abc import Iterable
from math import nan
from typing import Any

import pandas as pd

from probe.analysis.intervals import mean_over_seeds
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.tables.table_file import new_table, where

METRICS = ["pra", "f1"]
"""The metrics that `summarize` keeps, in the order in which it lists them."""

Scores = list[tuple[int, float]]
"""The seed and the score of runs."""


def scores_by(
    table: pd.DataFrame, columns: Iterable[str]
) -> dict[tuple[Any, ...], Scores]:
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


def seed_means(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Average values over the orders of each seed, then over seeds.

    Args:
        table: Values of runs, in the columns seed and value.
        columns: The columns by which rows are grouped.

    Returns:
        A row for each measured group, in order of first appearance, with these columns,
        then mean, std and seeds.
    """
    means = [
        (*key, mean.mean, mean.std, mean.seeds)
        for key, scores in scores_by(table, columns).items()
        if (mean := mean_over_seeds(scores))
    ]
    return pd.DataFrame(means, columns=[*columns, "mean", "std", "seeds"])


def check_one_study(table: pd.DataFrame) -> None:
    """Check that all measurements come from the same scenario and network.

    Raises:
        InputError: There are several scenarios or networks.
    """
    studies = sorted(set(table["network"] + " on " + table["scenario"]))
    if len(studies) > 1:
        raise InputError(
            f"rows from different studies ({', '.join(studies)}) cannot be averaged: "
            "choose one"
        )


def require(table: pd.DataFrame, column: str) -> None:
    """Check that no cell is empty in a column that a metric needs.

    Args:
        table: The measurements.
        column: The column.

    Raises:
        InputError: A cell is empty.
    """
    for metric in table["metric"][table[column].isna() | (table[column] == "")]:
        raise InputError(f"a row of metric {metric!r} needs a {column}, but has none")


def summarize(measurements: pd.DataFrame) -> pd.DataFrame:
    """Average `pra` and `f1` of the readout `retrain` and of the output over seeds.

    The scores are those after a learner's last task, which is 0 for `untrained`. A
    seed's score is the mean over its orders (Murata 2020, section 3); `f1` is grouped
    by task position, whatever the task, also that of networks that were trained in no
    order: it is the mean over the tasks at this position in the orders of the study.
    NaN means "not measured" and is left out.

    Args:
        measurements: The measurements of one study; the order of a learner's rows does
            not matter.

    Returns:
        The table `summary`, by learner (in order of first appearance), metric, depth
        and position.

    Raises:
        InputError: The rows come from several scenarios or networks, or lack a depth or
            position.
    """
    check_one_study(measurements)
    table = where(measurements, metric=METRICS, readout=["", RETRAIN])
    table = table[
        table["tasks_seen"] == table.groupby("learner")["tasks_seen"].transform("max")
    ]
    require(table, "depth")
    require(where(table, metric="f1"), "task_position")
    table = table.assign(
        task_position=table["task_position"].where(table["metric"] == "f1")
    )
    table = _in_every_order(table)
    columns = ["learner", "metric", "depth", "task_position"]
    ranks = {"learner": measurements["learner"].unique().tolist(), "metric": METRICS}
    means = _rank_rows(seed_means(table, *columns, "feature"), columns, ranks)
    return new_table("summary", means)


def _in_every_order(table: pd.DataFrame) -> pd.DataFrame:
    """Put the F1 of networks without an order at the position of its task in each order."""
    is_f1 = (table["metric"] == "f1") & (table["task"] != "")
    places = table.loc[
        is_f1 & (table["order"] != ""), ["order", "task", "task_position"]
    ]
    places = places.drop_duplicates()
    is_without = is_f1 & (table["order"] == "") & table["task"].isin(places["task"])
    placed = (
        table[is_without]
        .drop(columns=["order", "task_position"])
        .merge(places, on="task")
    )
    return pd.concat([table[~is_without], placed])


def pra_by_step(measurements: pd.DataFrame, readout: str) -> pd.DataFrame:
    """Return the PRA of each learner's features by the number of tasks seen.

    Args:
        measurements: The measurements of one study.
        readout: The readout of the features; for the output, rows of this readout are
            used if there are any, otherwise rows without a readout.

    Returns:
        The means over seeds of means over orders, in the columns learner, depth,
        feature, tasks_seen, mean, std and seeds: by learner (in order of first
        appearance), depth, and tasks seen.
    """
    table = where(measurements, metric="pra")
    features = where(table, readout=readout)["feature"]
    is_output = (table["readout"] == "") & ~table["feature"].isin(features)
    table = table[(table["readout"] == readout) | is_output]
    require(table, "depth")
    means = seed_means(table, "learner", "depth", "feature", "tasks_seen")
    ranks = {"learner": table["learner"].unique().tolist()}
    return _rank_rows(means, ["learner", "depth", "tasks_seen"], ranks)


def _rank_rows(
    frame: pd.DataFrame, columns: list[str], ranks: dict[str, list[str]]
) -> pd.DataFrame:
    """Sort rows by columns; `ranks` gives the order of the names in some of them."""

    def rank(column: pd.Series) -> pd.Series:
        names = ranks.get(str(column.name))
        return column.map(names.index) if names else column

    return frame.sort_values(columns, key=rank, ignore_index=True)


def training_seconds(times: pd.DataFrame) -> dict[str, float]:
    """Return the seconds of each learner's whole training: the mean over orders, then over seeds.

    Only runs that have learned as many tasks as any other run count. Learners are in
    the order in which such a run first appears.

    >>> training_seconds(new_table("times", [("er", "0", 0, 1, 1.5), ("er", "0", 0, 2, 2.5)]))
    {'er': 4.0}
    """
    runs = times.groupby(["learner", "order", "seed"], sort=False)
    # Python's sum, for its rounding.
    totals = runs.agg(
        tasks_seen=("tasks_seen", "max"),
        value=("seconds", lambda seconds: sum(seconds)),
    ).reset_index()
    # An unfinished run took less time because it did less.
    complete = totals[totals["tasks_seen"] == totals["tasks_seen"].max()]
    scores_of = scores_by(complete, ["learner"])
    return {learner: mean_over_runs(scores) for (learner,), scores in scores_of.items()}
