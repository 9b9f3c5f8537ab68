"""Numbers of layers as text, and what readouts are by their names."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from probe.analysis.intervals import half_width
from probe.metrics.murata import RETRAIN
from probe.stored_names import ReadoutName
from probe.tables.schemas import CANNOT_TELL, OFFLINE, OPEN, UNTRAINED
from probe.tables.sheets import Sheet
from probe.tables.table_file import where

MEASURED = {"accuracy": "", "floor": UNTRAINED, "ceiling": OFFLINE}
"""The quantities of a curve, with the control that each is measured on, "" for the learner."""

AmountOf = Callable[[str], float | None]
"""A function that returns the amount of a readout, None for others, such as `multiple_of`."""

_WORDS = {
    OPEN: CANNOT_TELL,
    "costs": "at fault",
    "repairs": "repair only",
    "breaks": "harm only",
    "harms": "suspected",
}
_NARROW = 0.3  # of the interval of a share that is shown
_UNSEEN = 0.0005  # of an accuracy, which rounds to no tenth of a point


def count_tasks(layers: pd.DataFrame) -> int:
    """Return T, the number of tasks in a table of layers, 1 if it has no task positions."""
    return int(max(layers["task_position"].dropna(), default=1))


def word_of(verdict: str) -> str:
    """Return a verdict as it is read."""
    return _WORDS.get(verdict, verdict)


def points(value: float) -> str:
    """Return a fraction in points of accuracy.

    >>> points(0.0123), points(-0.0001)
    ('1.2', '0.0')
    """
    # Adding 0 makes a positive zero of a negative one.
    return f"{round(100 * value, 1) + 0:.1f}"


def interval(row: Any) -> str:
    """Return the value of a row in points, with its interval if it has one; a dash for None."""
    if row is None or math.isnan(row.value):
        return "-"
    ends = "" if math.isnan(row.low) else f" [{points(row.low)}, {points(row.high)}]"
    return points(row.value) + ends


def mean_and_interval(row: Any, scale: float = 100, digits: str = ".1f") -> str:
    """Return the mean of a row with its 95 % interval over seeds; a dash for no row or mean.

    In percent, ends beyond 100 % and below -100 % are cut off.

    Args:
        row: The row, with mean, std and seeds.
        scale: The factor that multiplies the numbers.
        digits: The format of the numbers.

    >>> row = pd.DataFrame({"mean": [0.5, 0.5], "std": [math.nan, 0.1], "seeds": [1, 2]})
    >>> [mean_and_interval(one) for one in row.itertuples()]
    ['50.0', '50.0 [-39.8, 100.0]']
    """
    if row is None or math.isnan(row.mean):
        return "-"
    half = half_width(row.std, row.seeds)
    most = 1 if scale == 100 else math.inf
    ends = max(row.mean - half, -most), min(row.mean + half, most)
    mean, low, high = (f"{scale * x:{digits}}" for x in (row.mean, *ends))
    return mean if math.isnan(half) else f"{mean} [{low}, {high}]"


def pra_sheet(summary: pd.DataFrame) -> Sheet:
    """Return the PRA of each learner's features as one sheet."""
    rows = where(summary, metric="pra")
    seeds = max(rows["seeds"], default=0)
    over = f", mean and 95 % interval over {seeds} seeds" if seeds > 1 else ""
    return Sheet(
        title=f"Partial Retrain Accuracy, in %{over}",
        columns=("method", "layer", "PRA"),
        lines=[(r.learner, r.feature, mean_and_interval(r)) for r in rows.itertuples()],
    )


def multiple_of(readout: str) -> int | None:
    """Return the multiple of the epochs of partial retraining, None for other readouts.

    >>> [multiple_of(readout) for readout in ("retrain", "retrain@4", "retrain@4+bn", "linear")]
    [1, 4, None, None]
    """
    name = ReadoutName.parse(readout)
    return (
        name.budget if name == ReadoutName(base=RETRAIN, budget=name.budget) else None
    )


def per_class_of(readout: str) -> float | None:
    """Return the examples of each class that a linear readout is fitted to, None for others.

    >>> [per_class_of(readout) for readout in ("linear:20", "linear", "linear-task", "retrain")]
    [20.0, inf, None, None]
    """
    name = ReadoutName.parse(readout)
    if name != ReadoutName(base="linear", per_class=name.per_class):
        return None
    return math.inf if name.per_class is None else float(name.per_class)


def curves(layers: pd.DataFrame, amount_of: AmountOf) -> pd.DataFrame:
    """Return the rows over all tasks of layers that were read with several amounts of something.

    Args:
        layers: The quantities of all layers.
        amount_of: Function that returns the amount of a readout.

    Returns:
        The rows of all layers but the output, by depth and amount, with the amount as a
        column.
    """
    rows = where(layers, task_position=None)
    rows = rows.assign(amount=rows["readout"].map(amount_of, na_action="ignore"))
    rows = rows.dropna(subset="amount").sort_values(["depth", "amount"])
    groups = rows.assign(guessed=rows["quantity"] == "chance").groupby(
        ["learner", "feature"]
    )
    # Only the output, where nothing is retrained, has an accuracy of guessing.
    return rows[
        (groups["amount"].transform("nunique") > 1)
        & ~groups["guessed"].transform("any")
    ]


def is_part(never_learned: float, offline_adds: float) -> bool:
    """Return whether something never learned is a part of what offline training adds.

    It is not where it is negative, or a layer was worse than untrained right after its
    tasks.

    Args:
        never_learned: The accuracy that was missing right after each task.
        offline_adds: The room between floor and ceiling, NaN if either is missing.

    >>> is_part(0.03, 0.05), is_part(0.093, 0.05), is_part(-0.01, 0.05)
    (True, False, False)
    >>> is_part(0.03, float("nan"))
    True
    """
    return never_learned > -_UNSEEN and not never_learned > offline_adds + _UNSEEN


def retained(layer: Mapping[str, Any]) -> str:
    """Return the share retained in percent, its upper end, or the reason why there is neither.

    Args:
        layer: The row of each quantity of a layer.
    """
    row = layer.get("retained")
    above = layer.get("above_floor")
    if above and above.high < 0:
        # Also where there is too little room for a share.
        return "below untrained"
    if row is None or math.isnan(row.value):
        return "too little room" if row else "-"
    value, low, high = (f"{100 * x:.0f}" for x in (row.value, row.low, row.high))
    if row.high - row.low < _NARROW:
        return f"{value} [{low}, {high}]"
    return f"at most {high}" if row.high < 1 else "cannot tell"
