"""Statements on layers, the reasons to withhold one, and the first layer of which one is true.

The first reason that holds decides a verdict; without one, the interval does.
`probe.results.training_checks` and `probe.results.repeats` find the doubts; the others
are of the layer itself.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Any

import pandas as pd

from probe.analysis.intervals import Estimate
from probe.analysis.quantities import columns_of
from probe.analysis.statements import (
    MARGIN,
    STATEMENTS,
    beyond_margin,
    first_layer,
    seeds_needed,
)
from probe.immutable import immutable
from probe.results.layers import Layer
from probe.tables.schemas import NETWORK, OPEN, TRAINING, Row
from probe.tables.table_file import new_table


@immutable
class Doubts:
    """The learners and layers on which statements are withheld.

    Attributes:
        equal: The learners whose networks of several seeds are the same.
        on_ceiling: The learners whose last network is that of the ceiling.
        unchanged: The layers, by learner and feature, whose values are the same after
            every task in a run.
        motionless: The learners whose output is unchanged.
        above_ceiling: Whether a learner is more accurate than offline training.
        near_chance: The learners that have a run near chance on its first task.
    """

    equal: Set[str] = frozenset()
    on_ceiling: Set[str] = frozenset()
    unchanged: Set[tuple[str, str]] = frozenset()
    motionless: Set[str] = frozenset()
    above_ceiling: bool = False
    near_chance: Set[str] = frozenset()


_NONE = Doubts()

_OF_CEILING = ("below_ceiling", "learns_less")
_AT_OUTPUT = ("below_ceiling", "forgets")


def _reasons(layer: Layer, statement: str, doubts: Doubts) -> Iterator[str]:
    """Yield the reasons to withhold a statement; the first decides the verdict."""
    learner = layer.learner
    is_ceiling = learner in doubts.on_ceiling and statement in _OF_CEILING
    if is_ceiling or learner in doubts.equal:
        yield "equal seeds"
    is_unchanged = (learner, layer.feature) in doubts.unchanged
    if learner in doubts.motionless or (statement == "forgets" and is_unchanged):
        yield "unchanged"
    # A doubtful output says nothing of hidden layers.
    if layer.chance is not None:
        if doubts.above_ceiling and statement != "forgets":
            yield "no ceiling"
        if learner in doubts.near_chance:
            yield "near chance"
    if not layer.converged:
        yield "not converged"
    if _is_still_moving(layer, statement):
        yield "still moving"


def _is_still_moving(layer: Layer, statement: str) -> bool:
    drift = layer.quantities.get((f"{STATEMENTS[statement]}_drift", None))
    return drift is not None and (drift.low > MARGIN or drift.high < -MARGIN)


def verdict_of(
    layer: Layer,
    statement: str,
    estimate: Estimate,
    margin: float,
    doubts: Doubts = _NONE,
) -> str:
    """Decide a statement on a layer.

    Args:
        layer: The layer.
        statement: The name of the statement.
        estimate: The quantity that decides it.
        margin: The margin that it must exceed.
        doubts: The doubts of its study.

    Returns:
        A reason, or `yes`, `no` or `open` by the interval.
    """
    reasons = _reasons(layer, statement, doubts)
    return next(reasons, beyond_margin(estimate, margin))


def statement_rows(layer: Layer, doubts: Doubts) -> Iterator[Row]:
    """Yield the statements that the quantities of a layer allow, with their verdicts."""
    for name, estimate, margin in _statements_on(layer):
        yield {
            **layer.columns,
            **columns_of(STATEMENTS[name], None, estimate),
            "statement": name,
            "verdict": verdict_of(layer, name, estimate, margin, doubts),
            "margin": margin,
        }


def statement_seed_rows(layer: Layer) -> Iterator[Row]:
    """Yield the value of each seed in each statement on a layer."""
    for name, estimate, _ in _statements_on(layer):
        for seed, value in zip(layer.seeds, estimate.seed_values, strict=True):
            yield {
                **layer.columns,
                "statement": name,
                "seed": seed,
                "value": value,
            }


def _statements_on(layer: Layer) -> Iterator[tuple[str, Estimate, float]]:
    """Yield the name, quantity over all tasks and margin of each statement on a layer.

    `learns_less` can be shown at the output, but not denied: only the classes seen so
    far compete there, and all classes at the ceiling.
    """
    for name, quantity in STATEMENTS.items():
        estimate = layer.quantities.get((quantity, None))
        if estimate is None:
            continue
        steps = layer.terms.T - 1 if name == "loses_plasticity" else 1
        margin = MARGIN / steps
        is_shown = verdict_of(layer, name, estimate, margin) == "yes"
        at_output = name in _AT_OUTPUT or (name == "learns_less" and is_shown)
        if layer.chance is None or at_output:
            yield name, estimate, margin


def first_layers(
    statements: pd.DataFrame, depth_of_learner: Mapping[str, int]
) -> pd.DataFrame:
    """Return the range of layers in which the first one lies of which a statement is true.

    There is a range for each learner, readout and statement, unless a layer lacks the
    statement: the first of the other layers need not be the first of all.

    Args:
        statements: The statements on all layers.
        depth_of_learner: The number of layers of each learner, including the output.

    Returns:
        The table `first_layer`.
    """
    return new_table("first_layer", _ranges(statements, depth_of_learner))


def _ranges(
    statements: pd.DataFrame, depth_of_learner: Mapping[str, int]
) -> Iterator[tuple[Any, ...]]:
    """Yield the lines of the table: the key, the two ends of the range, the seeds, those needed.

    `loses_plasticity`, a mean slope over tasks, has no range.
    """
    by_layer = statements[statements["statement"] != "loses_plasticity"]
    for key, group in by_layer.groupby(["learner", "readout", "statement"], sort=False):
        learner, _, statement = key
        # A layer without the statement could be the first. Only the output may lack one:
        # `learns_less` is stated there only if it is shown.
        if len(group) < depth_of_learner[learner] - (statement == "learns_less"):
            continue
        rows = list(group.sort_values("depth", kind="stable").itertuples())
        scope = TRAINING if TRAINING in set(group["scope"]) else NETWORK
        first, last = first_layer([_in_range(row, scope) for row in rows])
        needed = _seeds_needed(rows, first, last) if scope == TRAINING else None
        names = ["" if i is None else rows[i].feature for i in (first, last)]
        yield (*key, *names, int(group["seeds"].max()), needed)


def _in_range(row: Any, scope: str) -> str:
    """Return the verdict of a layer; a layer with fewer seeds than others is open."""
    if row.scope != scope:
        return OPEN
    # A layer that never changes forgets nothing, although that says nothing of
    # learning.
    is_kept = row.verdict == "unchanged" and row.statement == "forgets"
    return "no" if is_kept else str(row.verdict)


def _seeds_needed(rows: list[Any], first: int | None, last: int | None) -> int | None:
    """Return about how many seeds would decide the first layer of a range.

    It is None if the verdict of the layer is not `open`, or the range is one layer or
    two neighbors, which more seeds would not tell apart.
    """
    if first is None or rows[first].verdict != OPEN:
        return None
    if last is not None and last - first < 2:
        return None
    row = rows[first]
    estimate = Estimate(
        value=row.value,
        low=row.low,
        high=row.high,
        seeds=row.seeds,
    )
    return seeds_needed(estimate, row.margin)
