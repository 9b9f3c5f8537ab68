"""Comparisons of two runs, layer by layer."""

from statistics import stdev
from typing import Any

from probe.analysis.intervals import half_width
from probe.analysis.statements import STATEMENTS
from probe.tables.layer_text import points
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet

_KEY = ["learner", "readout", "feature", "statement"]  # of a statement on a layer


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
    earlier = before["statements"][[*_KEY, "value"]]
    by_seed = _seed_values(before), _seed_values(after)
    lines = []
    for row in (
        after["statements"]
        .merge(earlier, on=_KEY, suffixes=("", "_before"))
        .itertuples()
    ):
        difference = row.value - row.value_before
        interval = ""
        key = tuple(getattr(row, column) for column in _KEY)
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


def _seed_values(tables: Tables) -> dict[Any, dict[int, float]]:
    """Return the value of each seed by learner, readout, feature and statement."""
    groups = tables["statement_seeds"].groupby(_KEY, sort=False)
    return {
        key: dict(zip(rows["seed"], rows["value"], strict=True)) for key, rows in groups
    }
