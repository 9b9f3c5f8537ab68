"""Sentences on the layers of a learner: statements, the intervals that decide them, the range."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from probe.analysis.statements import FEWEST
from probe.tables.rows import FirstLayerRow, StatementRow, grouped

_VERBS = {
    "below_ceiling": ("falls below the ceiling", "fall below the ceiling"),
    "forgets": ("forgets", "forget"),
    "learns_less": ("acquires less than offline", "acquire less than offline"),
    "loses_plasticity": ("learns each task worse, on average", "learn each task worse"),
}
"""The statements by name, of the learner and of no layer."""

WITHHELD = {
    "few seeds": "fewer than three seeds are finished",
    "not converged": "training has not converged",
    "near chance": "accuracy on the first task is near chance",
    "no ceiling": "offline training is less accurate than a learner",
}
"""The reasons by verdict."""

_WIDE = 0.2  # of an interval, beyond which the seeds are shown one by one

_READOUTS = (
    "retraining shows what this architecture rebuilds in this budget, the linear readout what is "
    "linearly separable"
)


def sentences(
    statements: Iterable[StatementRow], first_layer: Iterable[FirstLayerRow], tasks: int
) -> dict[tuple[str, str], list[str]]:
    """Return the sentences on each learner and readout; tasks: their number T."""
    statements = list(statements)
    ranges = {(row.learner, row.readout, row.statement): row for row in first_layer}
    said: dict[tuple[str, str], list[str]] = {}
    for (learner, readout), every in grouped(statements, "learner", "readout").items():
        own, seeds = grouped(every, "statement"), max(row.seeds for row in every)
        if seeds < FEWEST:
            said[learner, readout] = [
                f"{learner}: {seeds} of the {FEWEST} seeds that statements need"
            ]
            continue
        each = [(rows, ranges.get((learner, readout, name))) for name, rows in own.items()]
        said[learner, readout] = [
            sentence(rows, start, tasks) + _unmeasured(rows, own)
            for rows, start in each
            # The slope says something of a layer only where there is one.
            if rows[0].statement != "loses_plasticity" or "yes" in {row.verdict for row in rows}
        ]
    depths = {(row.learner, row.feature): row.depth for row in statements}
    for one, other in combinations(ranges.values(), 2):
        if _disagree(one, other, depths):
            verb = _VERBS[one.statement][0]
            said[other.learner, other.readout].append(
                f"{one.readout} and {other.readout} differ on where {one.learner} {verb} first: "
                f"{_READOUTS}"
            )
    return said


def sentence(rows: Sequence[StatementRow], start: FirstLayerRow | None, tasks: int) -> str:
    """Describe one statement on the layers of a learner and readout, by depth.

    start: the range of the first layer, None where it has none; tasks: their number T.

    >>> row = StatementRow(learner="ft", readout="linear", feature="conv3", depth=3, seeds=5,
    ...                    statement="forgets", verdict="yes", margin=0.01, value=0.054,
    ...                    low=0.042, high=0.066, by_seed="")
    >>> sentence([row], None, 5)
    'ft forgets: 5.4 points on tasks 1 to 4 [4.2, 6.6] at conv3'
    """
    one = rows[0]
    by = {row.verdict: [r for r in rows if r.verdict == row.verdict] for row in rows}
    finds, finding = _VERBS[one.statement]
    units = {
        "forgets": f" on task{'s 1 to' * (tasks > 2)} {tasks - 1}",
        "loses_plasticity": " per task",
    }
    of = units.get(one.statement, "")
    if shown := by.get("yes"):
        first = f"{one.learner} {finds}{_range(start)}: {_values(shown, of)}"
    elif set(by) == {"no"}:
        first = f"{one.learner}: no layer {finds} by more than the margin"
    else:
        first = f"{one.learner}: no layer is shown to {finding}"
    parts = [first]
    if own := by.get("open"):
        parts.append(f"inconclusive: {_values(own, of)}")
    if own := by.get("no"):
        parts.append(f"less than {margin(own)}{of} at {', '.join(row.feature for row in own)}")
    for verdict, why in WITHHELD.items():
        if own := by.get(verdict):
            parts.append(f"not judged, as {why}, at {', '.join(row.feature for row in own)}")
    if start is not None and start.seeds_needed is not None:
        parts.append(f"about {start.seeds_needed} seeds would narrow this down")
    return "; ".join(parts)


def _unmeasured(rows: Sequence[StatementRow], stated: Mapping[str, Sequence[StatementRow]]) -> str:
    """Return the layers without the statement `forgets`, as rows of theirs were left out."""
    every = [row.feature for row in stated.get("below_ceiling", ())]
    lacking = [feature for feature in every if feature not in {row.feature for row in rows}]
    if rows[0].statement != "forgets" or not lacking:
        return ""
    return f"; not measured after every task at {', '.join(lacking)}"


def _values(rows: Sequence[StatementRow], of: str) -> str:
    """Return the value at each layer with its interval, in points; the first with its unit."""
    cells: list[str] = []
    for row in rows:
        value, low, high = map(points, (row.value, row.low, row.high))
        unit = "" if cells else f" point{'' if value == '1.0' else 's'}{of}"
        each = ", ".join(points(float(x)) for x in row.by_seed.split())
        apart = f" (seeds: {each})" if row.high - row.low > _WIDE else ""
        cells.append(f"{value}{unit} [{low}, {high}] at {row.feature}{apart}")
    return ", ".join(cells)


def _range(start: FirstLayerRow | None) -> str:
    if start is None or not start.first_possible:
        return ""
    if not start.first_confirmed:
        return f", not before {start.first_possible}"
    if start.first_possible == start.first_confirmed:
        return f", first at {start.first_confirmed}"
    return f", first between {start.first_possible} and {start.first_confirmed}"


def margin(rows: Iterable[StatementRow]) -> str:
    """Return the largest margin of statements, in points, rounded up."""
    most = points(math.ceil(1000 * max(row.margin for row in rows) - 1e-6) / 1000)
    return "1 point" if most == "1.0" else f"{most.removesuffix('.0')} points"


def points(value: float) -> str:
    """Return a fraction in points of accuracy.

    >>> points(0.0123), points(-0.0001)
    ('1.2', '0.0')
    """
    # Adding 0 makes a positive zero of a negative one.
    return f"{round(100 * value, 1) + 0:.1f}"


def _disagree(
    one: FirstLayerRow, other: FirstLayerRow, depths: Mapping[tuple[str, str], int]
) -> bool:
    """Return whether the ranges of `retrain` and `linear` of one statement have no layer in common.

    depths: by learner and feature.
    """
    same = (one.learner, one.statement) == (other.learner, other.statement)
    if not same or {one.readout, other.readout} != {"retrain", "linear"}:
        return False
    if not (one.first_confirmed and other.first_confirmed):
        return False
    begin = max(depths[row.learner, row.first_possible] for row in (one, other))
    return begin > min(depths[row.learner, row.first_confirmed] for row in (one, other))
