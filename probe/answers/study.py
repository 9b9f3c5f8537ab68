"""The answers of a run: one for each method that learned task by task, from the tables.

What is still there is told by one readout: `linear` if it was measured, else the first.
Causes and layers speak of the way of training where there are enough seeds, else of
these networks.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from probe.analysis.statements import WITHHELD
from probe.answers.record import Answer, Interval, LayerLine
from probe.tables.layer_text import interval, is_part, points
from probe.tables.matrices import Matrices
from probe.tables.note_text import listed, note_sentences
from probe.tables.schemas import CONTROLS, TRAINING, Tables
from probe.tables.table_file import records, where

FIRST = "linear"
"""The readout that an answer prefers."""

COMPETITION = "new classes"
"""The line of what was lost because the classes learned later compete."""

_ONE = "this network"
_CONSTANT = "for every test example"  # in the note on a network that predicts one class

_Rows = Mapping[tuple[str, str], Any]
"""Rows over all tasks, by layer and quantity."""


def answers(tables: Tables, command: str = "") -> list[Answer]:
    """Return the answer on each method whose layers or causes were measured, in their order.

    Args:
        tables: The tables of a run.
        command: The command that goes further than the run; empty = a call of Python.
    """
    measured = [*tables["layers"]["learner"], *tables["causes"]["learner"]]
    learners = dict.fromkeys(name for name in measured if name not in CONTROLS)
    if not learners:
        return []
    matrices = Matrices(tables["measurements"])
    return [_answer(tables, matrices, learner, command) for learner in learners]


def _answer(tables: Tables, matrices: Matrices, learner: str, command: str) -> Answer:
    """Return the answer on one method."""
    measured = where(tables["measurements"], learner=learner)
    layers = where(tables["layers"], learner=learner)
    readout = _readout(layers)
    causes = where(
        widest_scope(tables["causes"]),
        learner=learner,
        score="accuracy",
    )
    of_readout = where(layers, readout=readout)
    row_of = {**_over_all_tasks(of_readout), **_over_all_tasks(causes)}
    lines = tuple(_lines(row_of, _by_depth(of_readout, causes)))
    output = lines[-1].layer if lines else ""
    total = (
        row_of.get(("", "forgotten"))
        or row_of.get(("", "lost"))
        or row_of.get((output, "forgotten"))
    )
    is_training = (of_readout["scope"] == TRAINING).any()
    trained = (
        f"{named_networks(measured)}, another training may differ (3 seeds would show)"
    )
    if is_training:
        trained = _trainings(measured, int(of_readout["seeds"].max()))
    forgotten = _interval(total)
    learned = _just_learned(matrices, learner, _positions(causes))
    belief = [
        *_rests_on(measured, trained, forgotten),
        *_doubts(tables, learner, readout),
        *_hidden_by_mean(causes),
        *_little_room(lines),
    ]
    return Answer(
        method=learner,
        readout=readout,
        tasks=earlier_tasks(causes, matrices.tasks - 1),
        learned=learned,
        forgotten=forgotten,
        layers=lines,
        belief=tuple(belief),
        next=command or _next(measured, matrices.tasks, has_causes=not causes.empty),
    )


def _readout(layers: pd.DataFrame) -> str:
    """Return the readout that says what is still there, empty if there is none."""
    readouts = list(layers["readout"].unique())
    if FIRST in readouts:
        return FIRST
    return str(readouts[0]) if readouts else ""


def _over_all_tasks(rows: pd.DataFrame) -> _Rows:
    over_all = where(rows, task_position=None).dropna(subset="value")
    return {(row.feature, row.quantity): row for row in records(over_all)}


def _by_depth(*tables: pd.DataFrame) -> list[str]:
    """Return the names of layers by depth; those of other blocks come last but the output."""
    rows = pd.concat([table[["feature", "depth"]] for table in tables])
    named = rows[rows["feature"] != ""].drop_duplicates("feature")
    return list(named.sort_values("depth", kind="stable")["feature"])


def _lines(row_of: _Rows, layers: list[str]) -> Iterator[LayerLine]:
    """Yield a line for each layer; first one for the classes learned after the earlier tasks."""
    competition = row_of.get(("", "competition"))
    # Whatever its interval: the costs add up to what was forgotten.
    if competition and competition.value:
        yield LayerLine(layer=COMPETITION, cost=_interval(competition))
    for layer in layers:
        quantities = {name: row for (of, name), row in row_of.items() if of == layer}
        cause = quantities.get("attributed")
        above = quantities.get("above_floor")
        never = _interval(quantities.get("never_learned"))
        untrained = _value(quantities.get("floor"))
        joint = _value(quantities.get("ceiling"))
        adds = math.nan if untrained is None or joint is None else joint - untrained
        yield LayerLine(
            layer=layer,
            cost=_interval(cause),
            harm=_interval(quantities.get("broken")),
            repair=_interval(quantities.get("restored")),
            verdict=cause.verdict if cause else "",
            held=_interval(quantities.get("accuracy")),
            untrained=untrained,
            joint=joint,
            below_untrained=bool(above and above.high < 0),
            never_learned=never if never and is_part(never.value, adds) else None,
            forgotten=_interval(quantities.get("forgotten")),
        )


def _interval(row: Any) -> Interval | None:
    if _value(row) is None:
        return None
    return Interval(value=row.value, low=row.low, high=row.high)


def _value(row: Any) -> float | None:
    return None if row is None or math.isnan(row.value) else row.value


def _positions(causes: pd.DataFrame) -> list[int]:
    """Return the positions of the tasks whose forgetting was measured, from 1."""
    positions = where(causes, quantity="attributed")["task_position"].dropna()
    return sorted(positions.astype(int).unique())


def _just_learned(
    matrices: Matrices, learner: str, positions: Sequence[int]
) -> float | None:
    """Return the accuracy right after each task, its mean over tasks before the last.

    positions: the tasks, all if there is none.
    """
    R = matrices.R(learner).values
    cells = [R[j, j - 1] for j in positions or range(1, matrices.tasks)]
    mean = float(np.mean(cells)) if cells else math.nan
    return None if math.isnan(mean) else mean


def widest_scope(causes: pd.DataFrame) -> pd.DataFrame:
    """Return the rows on the way of training, and those on networks of learners without any."""
    is_training = causes["scope"] == TRAINING
    trained = causes["learner"][is_training].unique()
    return causes[is_training | ~causes["learner"].isin(trained)]


def named_networks(measured: pd.DataFrame) -> str:
    """Name the networks of a learner that an interval over test examples speaks of.

    Seeds that only retrain downstream of the same network have the same accuracies at
    its output.

    Args:
        measured: The learner's measurements.
    """
    cells = where(measured, metric="accuracy", feature="")
    by_run = cells.groupby(["order", "seed"], sort=False)["value"].agg(tuple)
    networks = len(by_run.reset_index().drop_duplicates(["order", "value"]))
    return f"these {networks} networks" if networks > 1 else _ONE


def earlier_tasks(causes: pd.DataFrame, last: int) -> str:
    """Name the tasks over which forgetting is averaged, by those that were measured.

    Args:
        causes: The causes of a learner.
        last: The number of tasks before the last.

    Returns:
        Their names; empty if there is only one task.
    """
    if last < 1:
        return ""
    text = "task 1" if last == 1 else f"tasks 1 to {last}"
    measured = len(_positions(causes))
    return text if measured in (0, last) else f"{text} ({measured} measured)"


def _trainings(measured: pd.DataFrame, seeds: int) -> str:
    """Name the trainings of a method, over which an interval is."""
    orders = measured["order"].nunique()
    if orders == 1:
        return f"{seeds} trainings"
    return f"{seeds * orders} trainings: {seeds} seeds in {orders} task orders"


def _rests_on(
    measured: pd.DataFrame,
    trained: str,
    forgotten: Interval | None,
) -> Iterator[str]:
    """Yield what an answer rests on, with the interval of what was forgotten."""
    ends = ""
    if forgotten and not math.isnan(forgotten.low):
        low, high = points(forgotten.low), points(forgotten.high)
        ends = f"; forgotten: [{low}, {high}] (95 %)"
    yield f"{trained}{ends}"
    if measured["order"].nunique() == 1 and measured["task_position"].max() > 1:
        yield "one order: a task and its position cannot be told apart"


def _hidden_by_mean(causes: pd.DataFrame) -> Iterator[str]:
    """Yield the layer whose share of the first and of the last task differ most, if any does.

    They differ if their intervals have nothing in common.
    """
    shares = where(causes, quantity="attributed").set_index("feature")
    positions = shares["task_position"]
    first = shares[positions == positions.min()]
    last = shares[positions == positions.max()].reindex(first.index)
    apart = (first["low"] > last["high"]) | (last["low"] > first["high"])
    if apart.any():
        layer = (first["value"] - last["value"]).abs()[apart].idxmax()
        yield (
            f"a mean hides that {layer} accounts for {interval(first.loc[layer])} "
            f"points of task {positions.min():.0f} and {interval(last.loc[layer])} "
            f"of task {positions.max():.0f}"
        )


def _doubts(tables: Tables, learner: str, readout: str) -> Iterator[str]:
    """Yield what is in doubt: verdicts that are withheld, and notes on the networks."""
    statements = where(tables["statements"], learner=learner, readout=readout)
    in_doubt = where(statements, verdict=WITHHELD)
    for verdict, rows in in_doubt.groupby("verdict", sort=False):
        layers = listed(rows["feature"].unique())
        yield f"in doubt at {layers}: {WITHHELD[str(verdict)]}"
    notes = where(tables["notes"], learner=learner, feature="")
    is_constant = notes["note"].str.contains(_CONSTANT, regex=False)
    if constant := int(is_constant.sum()):
        measured = where(tables["measurements"], learner=learner)
        networks = measured.drop_duplicates(["order", "seed", "tasks_seen"])
        yield f"{constant} of {len(networks)} networks predict one class for all examples"
    yield from note_sentences(notes[~is_constant])


def _little_room(lines: tuple[LayerLine, ...]) -> Iterator[str]:
    """Yield what the controls do not allow to say."""
    held = [line for line in lines if line.held]
    if any(line.untrained is None for line in held):
        yield "no untrained network: an accuracy may need no training"
    if any(line.joint is None for line in held):
        yield "no joint training: never learned is not known"
    if small := [line.layer for line in held if line.has_little_room]:
        yield f"no room at {listed(small)}: untrained is nearly as good as joint there"


def _next(measured: pd.DataFrame, tasks: int, *, has_causes: bool) -> str:
    """Return the call of Python that goes further, for networks in memory."""
    if tasks == 1:
        return "probe.diff(before, after, old, new)"
    if not has_causes:
        return f"probe.analyze({{{tasks - 1}: before, {tasks}: after}}, train, test, tasks)"
    models = "models"
    if named_networks(measured) != _ONE:
        models = f"models[{measured['seed'].min()}]"
    steps = measured["tasks_seen"]
    before = steps[steps < tasks].max()
    return f"probe.diff({models}[{before}], {models}[{tasks}], old, new)"
