"""Sentences on the layers of a learner: statements with intervals, and comparisons of two runs."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import stdev
from typing import Any

import pandas as pd

from probe.analysis.intervals import half_width
from probe.analysis.statements import FEWEST, STATEMENTS, WITHHELD
from probe.metrics.murata import RETRAIN
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import records, where

KEY = ["learner", "readout", "feature", "statement"]
"""The columns that name a statement on a layer."""

_STATEMENT = {quantity: statement for statement, quantity in STATEMENTS.items()}

_VERBS = {
    "below_ceiling": ("falls below the ceiling", "fall below the ceiling"),
    "forgets": ("forgets", "forget"),
    "learns_less": ("acquires less than offline", "acquire less than offline"),
    "loses_plasticity": ("learns each task worse, on average", "learn each task worse"),
}
"""The phrases of each statement: for a learner, and after "no layer is shown to"."""

_WIDE = 0.2  # of an interval, beyond which the value of each seed is shown

_READOUTS = (
    "retraining shows what this architecture rebuilds in this budget, the linear readout what is "
    "linearly separable"
)


def sentences(tables: Tables, tasks: int) -> dict[tuple[str, str], list[str]]:
    """Return the sentences on each learner and readout.

    Args:
        tables: The tables.
        tasks: The number of tasks T.

    Returns:
        The sentences by learner and readout.
    """
    statements = _detailed(tables)
    ranges = {(r.learner, r.readout, r.statement): r for r in records(tables["first_layer"])}
    text = {}
    for (learner, readout), rows in statements.groupby(["learner", "readout"], sort=False):
        if (seeds := rows["seeds"].max()) < FEWEST:
            few = f"{learner}: {seeds} of the {FEWEST} seeds that statements need"
            text[learner, readout] = [few]
            continue
        by_statement = dict(list(rows.groupby("statement", sort=False)))
        # The slope says something of a layer only where there is one.
        slopes = by_statement.get("loses_plasticity")
        if slopes is not None and "yes" not in set(slopes["verdict"]):
            del by_statement["loses_plasticity"]
        budget = budget_of(tables["retraining"], readout)
        layer_rows = where(tables["layers"], learner=learner, readout=readout, quantity="forgotten")
        earlier = earlier_tasks(layer_rows["task_position"].dropna(), tasks - 1)
        text[learner, readout] = [
            sentence(stated, ranges.get((learner, readout, name)), earlier, budget)
            for name, stated in by_statement.items()
        ]
        features = {name: stated["feature"].tolist() for name, stated in by_statement.items()}
        stated, layers = features.get("forgets"), features.get("below_ceiling", [])
        if stated and (lacking := [layer for layer in layers if layer not in stated]):
            at = list(by_statement).index("forgets")
            text[learner, readout][at] += f"; not measured after every task at {', '.join(lacking)}"
    depths = {(row.learner, row.feature): row.depth for row in statements.itertuples()}
    for pair in combinations(ranges.values(), 2):
        if _disagree(pair, depths):
            (first, second), verb = pair, _VERBS[pair[0].statement][0]
            text.setdefault((second.learner, second.readout), []).append(
                f"{first.readout} and {second.readout} differ on where {first.learner} {verb} "
                f"first: {_READOUTS}"
            )
    return text


def earlier_tasks(positions: Iterable[float], last: int) -> str:
    """Name the tasks over which forgetting is averaged, by those that were measured.

    >>> earlier_tasks([1, 2], 2), earlier_tasks([1, 3, 5], 5)
    ('tasks 1 to 2', 'tasks 1 to 5 (3 measured)')
    """
    measured = len({*positions})
    text = f"task{'s 1 to' * (last > 1)} {last}"
    return text if measured in (0, last) else f"{text} ({measured} measured)"


def multiple_of(readout: str) -> int | None:
    """Return the multiple of the epochs of partial retraining, None for other readouts.

    >>> [multiple_of(readout) for readout in ("retrain", "retrain@4", "retrain@4+bn", "linear")]
    [1, 4, None, None]
    """
    match = re.fullmatch(rf"{RETRAIN}(?:@(\d{{1,5}}))?", readout)
    return int(match[1] or 1) if match else None


def budget_of(retraining: pd.DataFrame, readout: str) -> int | None:
    """Return the epochs of partial retraining, None for other readouts."""
    if retraining.empty:
        return None
    longest = retraining.loc[retraining["epoch"].idxmax()]
    names = (readout, longest["readout"])
    multiple, most = (multiple_of(name.removesuffix("+bn")) for name in names)
    return multiple * int(longest["epoch"]) // most if multiple and most else None


def _detailed(tables: Tables) -> pd.DataFrame:
    """Return the statements with the value of each seed, as text, and with what has moved.

    `moved` is by how much a retraining's value at half of its epochs differs, beyond the margin.
    """
    rows, values = tables["statements"], seed_values(tables)
    keys = rows[KEY].itertuples(index=False, name=None)
    rows = rows.assign(by_seed=[", ".join(map(points, values.get(k, {}).values())) for k in keys])
    names = [f"{quantity}_drift" for quantity in _STATEMENT]
    drifts = where(tables["layers"], quantity=names, task_position=None)
    by_key = drifts.assign(statement=drifts["quantity"].str.removesuffix("_drift").map(_STATEMENT))
    by_key = by_key.set_index(KEY)[["value", "low", "high"]].add_prefix("moved_")
    rows = rows.join(by_key, on=KEY)
    far = (rows["moved_low"] > rows["margin"]) | (rows["moved_high"] < -rows["margin"])
    return rows.assign(moved=rows["moved_value"].where(far))


def seed_values(tables: Tables) -> dict[Any, dict[int, float]]:
    """Return the value of each seed by learner, readout, feature and statement."""
    groups = tables["statement_seeds"].groupby(KEY, sort=False)
    return {key: dict(zip(rows["seed"], rows["value"], strict=True)) for key, rows in groups}


def compared_sheet(first: str, before: Tables, second: str, after: Tables) -> Sheet:
    """Compare two runs layer by layer, in percentage points.

    The difference is the second run minus the first. Its 95 % interval is Student's, over the
    differences by seed; it is left out for fewer than two seeds, and where the runs, or the
    measurements of a layer, have different seeds.

    Args:
        first: Name of the first run.
        before: Tables of the first run.
        second: Name of the second run.
        after: Tables of the second run.

    Returns:
        The sheet.
    """
    seeds = {*before["measurements"]["seed"], *after["measurements"]["seed"]}
    earlier = before["statements"][[*KEY, "value"]]
    by_seed = seed_values(before), seed_values(after)
    lines = []
    for row in after["statements"].merge(earlier, on=KEY, suffixes=("", "_before")).itertuples():
        difference, interval = row.value - row.value_before, ""
        key = tuple(getattr(row, column) for column in KEY)
        old, new = (values.get(key, {}) for values in by_seed)
        if old.keys() == new.keys() == seeds and len(seeds) > 1:
            half = half_width(stdev(new[seed] - old[seed] for seed in seeds), len(seeds))
            interval = f" [{points(difference - half)}, {points(difference + half)}]"
        quantity = STATEMENTS[row.statement].replace("_", " ")
        values = points(row.value_before), points(row.value), points(difference) + interval
        lines.append((row.learner, row.readout, row.feature, quantity, *values))
    columns = ("learner", "readout", "layer", "quantity", first, second, "difference")
    scenarios = (name for t in (before, after) for name in t["measurements"]["scenario"][:1])
    data = dict.fromkeys(scenarios)
    other = f"; of different data: {', '.join(data)}" if len(data) > 1 else ""
    title = f"{second} minus {first}, in points of accuracy{other}"
    return Sheet(title=title, columns=columns, lines=lines)


def sentence(rows: pd.DataFrame, first_layer: Any, earlier: str, budget: int | None) -> str:
    """Describe one statement on the layers of a learner and readout, by depth.

    Args:
        rows: The statement on each layer, with the columns `by_seed` and `moved`.
        first_layer: The row with the range of the first layer, None if there is no such row.
        earlier: The tasks that may be forgotten, see `earlier_tasks`.
        budget: The epochs of a retraining; None for other readouts.

    >>> from probe.tables.table_file import new_table
    >>> cells = ("ft", "linear", "conv3", 3, "forgets", "yes", 0.01, 0.054, 0.042, 0.066, 5)
    >>> sentence(new_table("statements", [cells]).assign(by_seed=""), None, "tasks 1 to 4", None)
    'ft forgets: 5.4 points on tasks 1 to 4 [4.2, 6.6] at conv3'
    """
    learner, statement = rows["learner"].iloc[0], rows["statement"].iloc[0]
    learner = f"retrained for {budget} epochs, {learner}" if budget else learner
    by_verdict = dict(list(rows.groupby("verdict", sort=False)))
    finds, finding = _VERBS[statement]
    unit = {"forgets": f" on {earlier}", "loses_plasticity": " per task"}.get(statement, "")
    if "yes" in by_verdict:
        shown = _values(by_verdict["yes"], unit, budget)
        parts = [f"{learner} {finds}{_range(first_layer)}: {shown}"]
    elif set(by_verdict) == {"no"}:
        parts = [f"{learner}: no layer {finds} by more than the margin"]
    else:
        parts = [f"{learner}: no layer is shown to {finding}"]
    if "open" in by_verdict:
        parts.append(f"inconclusive: {_values(by_verdict['open'], unit, budget)}")
    words = {verdict: f"not judged, as {reason}," for verdict, reason in WITHHELD.items()}
    if "no" in by_verdict:
        words = {"no": f"less than {margin(by_verdict['no']['margin'].max())}{unit}", **words}
    for verdict in filter(by_verdict.__contains__, words):
        parts.append(f"{words[verdict]} at {', '.join(by_verdict[verdict]['feature'])}")
    if first_layer and first_layer.seeds_needed is not None:
        parts.append(f"about {first_layer.seeds_needed} seeds would narrow this down")
    return "; ".join(parts)


def _values(rows: pd.DataFrame, unit: str, budget: int | None) -> str:
    """Return the value at each layer with its interval, in points; the first with its unit."""
    cells: list[str] = []
    for row in rows.itertuples():
        value, low, high = map(points, (row.value, row.low, row.high))
        words = "" if cells else f" point{'s' * (value != '1.0')}{unit}"
        by_seed = f" (seeds: {row.by_seed})" if row.high - row.low > _WIDE else ""
        cells.append(f"{value}{words} [{low}, {high}] at {row.feature}{by_seed}")
        if budget and row.moved == row.moved:
            fewer = "fewer" if row.moved > 0 else "more"
            cells[-1] += f", {points(abs(row.moved))} {fewer} than for {budget // 2}"
    return ", ".join(cells)


def _range(layer: Any) -> str:
    if layer is None or not layer.first_possible:
        return ""
    if not layer.first_confirmed:
        return f", not before {layer.first_possible}"
    if layer.first_possible == layer.first_confirmed:
        return f", first at {layer.first_confirmed}"
    return f", first between {layer.first_possible} and {layer.first_confirmed}"


def margin(largest: float) -> str:
    """Return the largest margin of statements, in points, rounded up."""
    most = points(math.ceil(1000 * largest - 1e-6) / 1000)
    return "1 point" if most == "1.0" else f"{most.removesuffix('.0')} points"


def points(value: float) -> str:
    """Return a fraction in points of accuracy.

    >>> points(0.0123), points(-0.0001)
    ('1.2', '0.0')
    """
    # Adding 0 makes a positive zero of a negative one.
    return f"{round(100 * value, 1) + 0:.1f}"


def _disagree(pair: Sequence[Any], depths: Mapping[tuple[str, str], int]) -> bool:
    """Return whether the ranges of `retrain` and `linear` of one statement have no layer in common.

    depths: by learner and feature.
    """
    same = len({(row.learner, row.statement) for row in pair}) == 1
    if not same or {row.readout for row in pair} != {"retrain", "linear"}:
        return False
    named = {(r.learner, name) for r in pair for name in (r.first_possible, r.first_confirmed)}
    if not named <= depths.keys():
        return False
    begin = max(depths[row.learner, row.first_possible] for row in pair)
    return begin > min(depths[row.learner, row.first_confirmed] for row in pair)
