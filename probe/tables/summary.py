"""What the rows of a study say as a whole: means over the orders of a seed, then over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from probe.errors import InputError
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.mean_over_seeds import SeedMean, mean_over_seeds
from probe.metrics.murata import RETRAIN
from probe.tables.cells import Measure
from probe.tables.rows import Row, SummaryRow, TimeRow

MEASURES: tuple[Measure, ...] = ("pra", "f1")
"""The measures that `summarize` keeps, in the order in which it lists them."""

_Cells = defaultdict[tuple[int, int], list[tuple[int, float]]]  # by step, place: seed, value


class Layer(NamedTuple):
    """A feature of a learner's network, see `Row`."""

    learner: str
    depth: int
    feature: str


class Group(NamedTuple):
    """What a line of the summary is the mean of, see `Row`; place: None for `pra`."""

    learner: str
    measure: Measure
    depth: int
    feature: str
    place: int | None


def summarize(rows: Iterable[Row]) -> list[SummaryRow]:
    """Return the mean and the sample standard deviation (ddof=1) over seeds of `pra` and `f1`.

    Of retraining, and of each learner after the last of its steps: 0 for `untrained`.

    A seed's score is the mean over its orders (Murata 2020, section 3); `f1` is grouped by the
    task's place in the executed order, whatever the task. Fractions in [0, 1]; `std` is NaN for a
    single seed; rows whose value is NaN were not measured and count nowhere. Sorted by learner
    (in order of first appearance), measure, depth and place. The result does not depend on the
    order of a learner's rows. Raises InputError for rows of more than one scenario or network.
    """
    table = _of_one_study(rows)
    learners = list(dict.fromkeys(row.learner for row in table))
    groups: defaultdict[Group, list[tuple[int, float]]] = defaultdict(list)
    for row in _at_the_last_step(table):
        groups[_group(row)].append((row.seed, row.value))
    return summarize_groups(groups, learners)


def summarize_groups(
    groups: Mapping[Group, Iterable[tuple[int, float]]], learners: Sequence[str]
) -> list[SummaryRow]:
    """Return what `summarize` returns, from the (seed, value) pairs of each group.

    learners: in the order in which they are listed. The same groups give the same rows, to the last
    bit, in whatever order they and their pairs come.
    """

    def rank(group: Group) -> tuple[int, int, int, int]:
        measure = MEASURES.index(group.measure)
        return learners.index(group.learner), measure, group.depth, group.place or 0

    means = ((group, mean_over_seeds(groups[group])) for group in sorted(groups, key=rank))
    return [SummaryRow(**group._asdict(), **vars(found)) for group, found in means if found]


def mean_accuracies(rows: Iterable[Row]) -> dict[str, AccuracyMatrix]:
    """Return each learner's R by place, (T+1, T): each cell the mean over seeds of means of orders.

    Learners come in order of first appearance, those without `accuracy` rows are not among them. T
    is the largest step or place in a learner's rows; a cell without a measurement is NaN. Rows with
    a feature are cells of its own matrix A, not of R, and count nowhere. Raises InputError for rows
    of more than one scenario or network, and for fewer cells than there are tasks: one evaluation
    gives T.
    """
    learners: defaultdict[str, _Cells] = defaultdict(lambda: defaultdict(list))
    for row in _of_one_study(rows):
        if row.measure == "accuracy" and not row.feature:
            cell = _cell(row, "step", 0), _cell(row, "place", 1)
            learners[row.learner][cell].append((row.seed, row.value))
    return {learner: _mean_matrix(learner, cells) for learner, cells in learners.items()}


def pra_by_step(rows: Iterable[Row], readout: str) -> dict[Layer, dict[int, SeedMean]]:
    """Return the PRA of each learner's features by the number of tasks learned, ascending.

    Each is the mean over seeds of means of orders. readout: what was trained behind the features;
    rows of none are of the output, and there as well. Sorted by learner (in order of first
    appearance) and depth. Rows of no step, as in tables of earlier versions, count nowhere.
    """
    found: defaultdict[Layer, defaultdict[int, list[tuple[int, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.measure == "pra" and row.readout in ("", readout) and row.step is not None:
            layer = Layer(row.learner, _cell(row, "depth", 1), row.feature)
            found[layer][row.step].append((row.seed, row.value))
    learners = list(dict.fromkeys(layer.learner for layer in found))
    ordered = sorted(found, key=lambda layer: (learners.index(layer.learner), layer.depth))
    means = {
        layer: {step: mean_over_seeds(pairs) for step, pairs in sorted(found[layer].items())}
        for layer in ordered
    }
    return {layer: {k: mean for k, mean in own.items() if mean} for layer, own in means.items()}


def training_seconds(times: Iterable[TimeRow]) -> dict[str, float]:
    """Return how many seconds each learner trained in all: the mean over seeds of means of orders.

    A run counts once it has learned as many tasks as any other has; learners are in the order in
    which such a run first appears.

    >>> row = TimeRow(learner="er", order="0", seed=0, step=1, seconds=1.5)
    >>> training_seconds([row, TimeRow(learner="er", order="0", seed=0, step=2, seconds=2.5)])
    {'er': 4.0}
    """
    runs: defaultdict[tuple[str, str, int], dict[int, float]] = defaultdict(dict)
    for row in times:
        runs[row.learner, row.order, row.seed][row.step] = row.seconds
    # A run that is not finished took less time because it did less.
    last = max((max(run) for run in runs.values()), default=0)
    whole: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for (learner, _, seed), run in runs.items():
        if last in run:
            whole[learner].append((seed, sum(run.values())))
    means = {learner: mean_over_seeds(sums) for learner, sums in whole.items()}
    return {learner: found.mean for learner, found in means.items() if found}


def _group(row: Row) -> Group:
    place = _cell(row, "place", 1) if row.measure == "f1" else None
    return Group(row.learner, row.measure, _cell(row, "depth", 1), row.feature, place)


def _at_the_last_step(rows: Sequence[Row]) -> list[Row]:
    """Return what `summarize` keeps: retraining and the output, each learner at its last step."""
    # Accuracies are cells of R, which `mean_accuracies` averages.
    kept = [row for row in rows if row.measure in MEASURES and row.readout in ("", RETRAIN)]
    last: dict[str, int] = {}
    for row in kept:
        last[row.learner] = max(last.get(row.learner, 0), row.step or 0)
    # Without a step, as in tables of earlier versions, it is the last one.
    return [row for row in kept if row.step in (None, last[row.learner])]


def _mean_matrix(learner: str, cells: _Cells) -> AccuracyMatrix:
    tasks = max(map(max, cells))
    # A damaged step or place could ask for a matrix of any size.
    if len(cells) < tasks:
        raise InputError(
            f"the accuracies of {learner!r} name {tasks} tasks, but have {len(cells)} cells of R: "
            f"write the tables again from the results"
        )
    values = np.full((tasks + 1, tasks), np.nan)
    for (step, place), measured in cells.items():
        if found := mean_over_seeds(measured):
            values[step, place - 1] = found.mean
    return AccuracyMatrix(values)


def _cell(row: Row, column: str, least: int) -> int:
    """Return a whole number that a row of its measure has to have."""
    value = getattr(row, column)
    if not isinstance(value, int) or value < least:
        raise InputError(
            f"a row of measure {row.measure!r} (learner {row.learner!r}, seed {row.seed}) needs a "
            f"{column} from {least}, got {value}: write the tables again from the results"
        )
    return value


def _of_one_study(rows: Iterable[Row]) -> list[Row]:
    """Return the rows; raises InputError unless one scenario and network gave them all."""
    # A generator can be gone through only once, and it is needed twice.
    table = list(rows)
    studied = sorted({f"{row.network} on {row.scenario}" for row in table})
    if len(studied) > 1:
        raise InputError(f"rows of different studies cannot be averaged: {', '.join(studied)}")
    return table
