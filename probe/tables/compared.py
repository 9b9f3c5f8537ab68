"""Differences between the layers of two runs of one study, paired by seed."""

import math
from statistics import stdev

from scipy.special import stdtrit

from probe.analysis.intervals import LEVEL
from probe.analysis.statements import STATEMENTS
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.statement_text import KEY, points, seed_values


def compared_sheet(first: str, before: Tables, second: str, after: Tables) -> Sheet:
    """Compare two runs layer by layer, in percentage points.

    The difference is the second run minus the first. Its 95 % interval is Student's, over the
    differences by seed; it is left out for fewer than two seeds, and where the runs, or the
    measurements of a layer, have different seeds.

    Args:
        first: Name of the first run.
        before: Its tables.
        second: Name of the second run.
        after: Its tables.

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
            spread = stdev(new[seed] - old[seed] for seed in seeds) / math.sqrt(len(seeds))
            half = float(stdtrit(len(seeds) - 1, (1 + LEVEL) / 2)) * spread
            interval = f" [{points(difference - half)}, {points(difference + half)}]"
        quantity = STATEMENTS[row.statement].replace("_", " ")
        values = points(row.value_before), points(row.value), points(difference) + interval
        lines.append((row.learner, row.readout, row.feature, quantity, *values))
    columns = ("learner", "readout", "layer", "quantity", first, second, "difference")
    return Sheet(
        title=f"{second} minus {first}, in points of accuracy", columns=columns, lines=lines
    )
