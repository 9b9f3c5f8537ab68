"""Comparisons of two runs, layer by layer: a sheet for each learner and readout."""

from collections.abc import Mapping
from itertools import chain
from statistics import stdev
from typing import Any

from probe.analysis.intervals import half_width
from probe.analysis.statements import STATEMENTS
from probe.errors import InputError
from probe.tables.layer_text import points
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet

_KEY = ["learner", "readout", "feature", "statement"]  # of a statement on a layer


def compared_sheets(
    first: str, before: Tables, second: str, after: Tables
) -> list[Sheet]:
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
        A sheet for each learner and readout that both runs have.

    Raises:
        InputError: They have none in common.
    """
    seeds = {*before["measurements"]["seed"], *after["measurements"]["seed"]}
    values_before = _seed_values(before)
    values_after = _seed_values(after)
    earlier = before["statements"][[*_KEY, "value"]]
    both = after["statements"].merge(earlier, on=_KEY, suffixes=("", "_before"))
    if both.empty and len(earlier) and len(after["statements"]):
        raise InputError(
            f"{first} and {second} have no method, readout and layer in common"
        )
    title = f"{second} minus {first}, in points of accuracy"
    data = [tables["measurements"]["scenario"][:1] for tables in (before, after)]
    names = list(dict.fromkeys(chain(*data)))
    if len(names) > 1:
        title += f"; of different data: {', '.join(names)}"
    sheets = []
    for (learner, readout), rows in both.groupby(["learner", "readout"], sort=False):
        lines = []
        for row in rows.itertuples():
            key = learner, readout, row.feature, row.statement
            interval = _interval(values_before.get(key), values_after.get(key), seeds)
            cells = (
                row.feature,
                STATEMENTS[row.statement].replace("_", " "),
                points(row.value_before),
                points(row.value),
                points(row.value - row.value_before) + interval,
            )
            lines.append(cells)
        sheet = Sheet(
            of=f"{learner}, {readout}",
            title=title,
            columns=("layer", "quantity", first, second, "difference"),
            lines=lines,
        )
        sheets.append(sheet)
    return sheets


def _interval(
    before: Mapping[int, float] | None,
    after: Mapping[int, float] | None,
    seeds: set[int],
) -> str:
    """Return the interval of the mean difference, paired by seed, as text."""
    if before is None or after is None or len(seeds) < 2:
        return ""
    if not before.keys() == after.keys() == seeds:
        return ""
    differences = [after[seed] - before[seed] for seed in seeds]
    mean = sum(differences) / len(seeds)
    half = half_width(stdev(differences), len(seeds))
    return f" [{points(mean - half)}, {points(mean + half)}]"


def _seed_values(tables: Tables) -> dict[Any, dict[int, float]]:
    """Return the value of each seed by learner, readout, feature and statement."""
    groups = tables["statement_seeds"].groupby(_KEY, sort=False)
    return {
        key: dict(zip(rows["seed"], rows["value"], strict=True)) for key, rows in groups
    }
