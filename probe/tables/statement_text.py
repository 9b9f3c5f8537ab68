"""Sentences on the layers of a learner: statements with intervals, and comparisons of two runs."""

import math
from collections.abc import Iterable, Mapping
from statistics import stdev
from typing import Any

import pandas as pd

from probe.analysis.intervals import half_width
from probe.analysis.statements import MARGIN, STATEMENTS, WITHHELD
from probe.metrics.murata import RETRAIN
from probe.stored_names import ReadoutName
from probe.tables.schemas import NETWORK, TRAINING, Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import records, where

KEY = ["learner", "readout", "feature", "statement"]
"""The columns that name a statement on a layer."""

_VERBS = {
    "below_ceiling": ("falls below the ceiling", "fall below the ceiling"),
    "forgets": ("forgets", "forget"),
    "learns_less": ("acquires less than offline", "acquire less than offline"),
    "loses_plasticity": ("learns each task worse, on average", "learn each task worse"),
}
"""The phrases of each statement: for a learner, and after "no layer is shown to"."""

_Ranges = Mapping[tuple[str, str, str], Any]  # by learner, readout and statement

_WIDE = 0.2  # of an interval, beyond which the value of each seed is shown
_UNSEEN = 0.0005  # of an accuracy, which rounds to no tenth of a point


def sentences(tables: Tables, tasks: int) -> dict[tuple[str, str], list[str]]:
    """Return the sentences on each learner and readout.

    They speak of the way of training where its seeds are enough, else of these
    networks.

    Args:
        tables: The tables.
        tasks: The number of tasks T.

    Returns:
        The sentences by learner and readout.
    """
    statements = _detailed(tables)
    ranges = {
        (r.learner, r.readout, r.statement): r for r in records(tables["first_layer"])
    }
    return {
        key: [
            *_stated(rows, tables, ranges, tasks),
            *three_numbers(
                where(tables["layers"], learner=key[0], readout=key[1])
            ).values(),
        ]
        for key, rows in statements.groupby(["learner", "readout"], sort=False)
    }


def _stated(
    rows: pd.DataFrame, tables: Tables, ranges: _Ranges, tasks: int
) -> list[str]:
    """Return a sentence for each statement on a learner and readout.

    rows: as in `_detailed`, on every layer; ranges: of the first layer.
    """
    learner = rows["learner"].iloc[0]
    readout = rows["readout"].iloc[0]
    is_network = rows["scope"] == NETWORK
    networks = named_networks(tables, learner) if is_network.all() else ""
    # A layer that lacks seeds silences no other.
    unfinished = rows["feature"][is_network].unique() if not networks else []
    judged = rows if networks else rows[~is_network]
    by_statement = dict(list(judged.groupby("statement", sort=False)))
    # The slope says something of a layer only where there is one.
    slopes = by_statement.get("loses_plasticity")
    if slopes is not None and "yes" not in set(slopes["verdict"]):
        del by_statement["loses_plasticity"]
    budget = budget_of(tables["retraining"], readout)
    layer_rows = where(
        tables["layers"], learner=learner, readout=readout, quantity="forgotten"
    )
    earlier = earlier_tasks(layer_rows["task_position"].dropna(), tasks - 1)
    text = {
        name: sentence(
            of_statement, ranges.get((learner, readout, name)), earlier, budget
        )
        for name, of_statement in by_statement.items()
    }
    if "forgets" in text:
        forgetting = set(by_statement["forgets"]["feature"])
        layers = by_statement.get("below_ceiling", judged.head(0))["feature"]
        if lacking := [layer for layer in layers if layer not in forgetting]:
            text["forgets"] += (
                f"; not measured after every task at {', '.join(lacking)}"
            )
    prefix = f"{networks}: " if networks else ""
    stated = [f"{prefix}{words}" for words in text.values()]
    if len(unfinished):
        stated.append(f"fewer than three seeds are finished at {', '.join(unfinished)}")
    return stated


def named_networks(tables: Tables, learner: str) -> str:
    """Name the networks of a learner, of which an interval over test examples speaks.

    Seeds that only retrain downstream of the same network have the same accuracies at
    its output.

    Args:
        tables: The tables.
        learner: The learner.
    """
    cells = where(
        tables["measurements"], learner=learner, metric="accuracy", feature=""
    )
    of_runs = (
        cells.groupby(["order", "seed"], sort=False)["value"].agg(tuple).reset_index()
    )
    networks = len(of_runs.drop_duplicates(["order", "value"]))
    return f"these {networks} networks" if networks > 1 else "this network"


def is_part(never_learned: float, offline_adds: float) -> bool:
    """Return whether something never learned is a part of what offline training adds.

    It is not where it is negative, or a layer was worse than untrained right after its
    tasks.

    Args:
        never_learned: The accuracy that was missing right after each task.
        offline_adds: The room between floor and ceiling, NaN if either is missing.

    >>> is_part(0.03, 0.05), is_part(0.093, 0.05), is_part(-0.01, 0.05)
    (True, False, False)
    """
    return never_learned > -_UNSEEN and not never_learned > offline_adds + _UNSEEN


def three_numbers(layers: pd.DataFrame) -> dict[str, str]:
    """Return three signed numbers of layers that never learned what is no part of offline's.

    Args:
        layers: The rows of one learner and readout.

    Returns:
        The sentences by feature: what offline training adds to a layer, what the layer
        had added right after each task, and what it has lost since.
    """
    over_all = where(layers, task_position=None).sort_values("depth", kind="stable")
    text: dict[str, str] = {}
    for feature, rows in over_all.groupby("feature", sort=False):
        value_of = dict(zip(rows["quantity"], rows["value"], strict=True))
        never = value_of.get("never_learned", 0.0)
        adds = value_of.get("ceiling", math.nan) - value_of.get("floor", math.nan)
        if adds == adds and abs(never) > MARGIN and not is_part(never, adds):
            lost = value_of.get("forgotten", math.nan)
            since = f", and has lost {points(lost)} since" if lost == lost else ""
            text[str(feature)] = (
                f"at {feature} offline adds {points(adds)} points, this layer had "
                f"added {points(value_of['acquired'])}{since}"
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
    name = ReadoutName.parse(readout)
    return (
        name.budget if name == ReadoutName(base=RETRAIN, budget=name.budget) else None
    )


def budget_of(retraining: pd.DataFrame, readout: str) -> int | None:
    """Return the epochs of partial retraining, None for other readouts."""
    if retraining.empty:
        return None
    longest = retraining.loc[retraining["epoch"].idxmax()]
    name = ReadoutName.parse(readout)
    most = ReadoutName.parse(longest["readout"])
    if not (name.is_retraining and most.is_retraining):
        return None
    return name.budget * int(longest["epoch"]) // most.budget


def _detailed(tables: Tables) -> pd.DataFrame:
    """Return the statements with the value of each seed, as text, and what offline training adds.

    `by_seed` is empty for one or two seeds, and for seeds that are retrainings.
    """
    rows = tables["statements"]
    values = seed_values(tables)
    keys = rows[KEY].itertuples(index=False, name=None)
    by_seed = [", ".join(map(points, values.get(key, {}).values())) for key in keys]
    rows = rows.assign(by_seed=by_seed)
    rows["by_seed"] = rows["by_seed"].where(rows["scope"] == TRAINING, "")
    ends = where(tables["layers"], quantity=["ceiling", "floor"], task_position=None)
    by_end = ends.pivot_table("value", KEY[:-1], "quantity").reindex(
        columns=["ceiling", "floor"]
    )
    by_layer = (by_end["ceiling"] - by_end["floor"]).rename("offline_adds")
    return rows.join(by_layer, on=KEY[:-1])


def seed_values(tables: Tables) -> dict[Any, dict[int, float]]:
    """Return the value of each seed by learner, readout, feature and statement."""
    groups = tables["statement_seeds"].groupby(KEY, sort=False)
    return {
        key: dict(zip(rows["seed"], rows["value"], strict=True)) for key, rows in groups
    }


def compared_sheet(first: str, before: Tables, second: str, after: Tables) -> Sheet:
    """Compare two runs layer by layer, in percentage points.

    The difference is the second run minus the first. Its 95 % interval is Student's,
    over the differences by seed; it is left out for fewer than two seeds, and where the
    runs, or the measurements of a layer, have different seeds.

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
    for row in (
        after["statements"]
        .merge(earlier, on=KEY, suffixes=("", "_before"))
        .itertuples()
    ):
        difference = row.value - row.value_before
        interval = ""
        key = tuple(getattr(row, column) for column in KEY)
        old, new = (values.get(key, {}) for values in by_seed)
        if old.keys() == new.keys() == seeds and len(seeds) > 1:
            half = half_width(
                stdev(new[seed] - old[seed] for seed in seeds), len(seeds)
            )
            interval = f" [{points(difference - half)}, {points(difference + half)}]"
        cells = (
            *key[:3],
            STATEMENTS[row.statement].replace("_", " "),
            points(row.value_before),
            points(row.value),
            points(difference) + interval,
        )
        lines.append(cells)
    columns = ("learner", "readout", "layer", "quantity", first, second, "difference")
    data = dict.fromkeys(
        name
        for tables in (before, after)
        for name in tables["measurements"]["scenario"][:1]
    )
    other = f"; of different data: {', '.join(data)}" if len(data) > 1 else ""
    return Sheet(
        title=f"{second} minus {first}, in points of accuracy{other}",
        columns=columns,
        lines=lines,
    )


def sentence(
    rows: pd.DataFrame, first_layer: Any, earlier: str, budget: int | None
) -> str:
    """Describe one statement on the layers of a learner and readout, by depth.

    Args:
        rows: The statement on each layer, with the columns `by_seed` and
            `offline_adds`.
        first_layer: The row with the range of the first layer, None if there is no such
            row.
        earlier: The tasks that may be forgotten, see `earlier_tasks`.
        budget: The epochs of a retraining; None for other readouts.

    >>> from probe.tables.table_file import new_table
    >>> cells = ("ft", "linear", "conv3", 3, "forgets", "yes", 0.01, 0.054, 0.042, 0.066, 5, "")
    >>> rows = new_table("statements", [cells]).assign(by_seed="", offline_adds=math.nan)
    >>> sentence(rows, None, "tasks 1 to 4", None)
    'ft forgets: 5.4 points on tasks 1 to 4 [4.2, 6.6] at conv3'
    """
    learner = rows["learner"].iloc[0]
    statement = rows["statement"].iloc[0]
    during = f"retrained for {budget} epochs, " if budget else ""
    by_verdict = dict(list(rows.groupby("verdict", sort=False)))
    finds, finding = _VERBS[statement]
    unit = {"forgets": f" on {earlier}", "loses_plasticity": " per task"}.get(
        statement, ""
    )
    if "yes" in by_verdict:
        shown = _values(by_verdict["yes"], unit)
        parts = [f"{during}{learner} {finds}{_range(first_layer)}: {shown}"]
    elif set(by_verdict) == {"no"}:
        parts = [f"{during}no layer of {learner} {finds} by more than the margin"]
    else:
        parts = [f"{during}no layer of {learner} is shown to {finding}"]
    if "open" in by_verdict:
        parts.append(f"inconclusive: {_values(by_verdict['open'], unit)}")
    words = {
        verdict: f"not judged, as {reason}," for verdict, reason in WITHHELD.items()
    }
    if "no" in by_verdict:
        words = {
            "no": f"less than {margin(by_verdict['no']['margin'].max())}{unit}",
            **words,
        }
    for verdict in filter(by_verdict.__contains__, words):
        parts.append(f"{words[verdict]} at {', '.join(by_verdict[verdict]['feature'])}")
    if first_layer and first_layer.seeds_needed is not None:
        parts.append(f"about {first_layer.seeds_needed} seeds would narrow this down")
    return "; ".join(parts)


def _values(rows: pd.DataFrame, unit: str) -> str:
    """Return the value at each layer with its interval, in points; the first with its unit."""
    cells: list[str] = []
    named = False  # whether the unit is
    for row in rows.itertuples():
        is_beyond = row.offline_adds + _UNSEEN < row.value and row.value > MARGIN
        if row.statement == "learns_less" and is_beyond:
            cells.append(f"by more than offline adds at {row.feature}")
            continue
        value, low, high = map(points, (row.value, row.low, row.high))
        words = "" if named else f" point{'s' * (value != '1.0')}{unit}"
        named = True
        by_seed = row.by_seed and row.high - row.low > _WIDE
        seeds = f" (seeds: {row.by_seed})" if by_seed else ""
        cells.append(f"{value}{words} [{low}, {high}] at {row.feature}{seeds}")
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
