"""Differences between the layers of two runs of one study, paired by seed."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import stdev

from scipy.special import stdtrit

from probe.analysis.intervals import LEVEL
from probe.analysis.statements import STATEMENTS
from probe.tables.folder import Tables
from probe.tables.rows import StatementRow
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A quantity of a layer in the second run minus that in the first, with its 95 % interval.

    row: of the second run, with its quantity and layer; before: its value in the first run; value,
    low, high: of the difference, fractions; low and high are NaN for fewer than two seeds, and
    where the seeds of the two runs, or of a layer in them, differ.
    """

    row: StatementRow
    before: float
    value: float
    low: float
    high: float


def differences(first: Tables, second: Tables) -> Iterator[Difference]:
    """Yield the differences of what both runs state of the same learners, readouts and layers.

    The interval is Student's, of the differences of the seeds, where both runs have the same seeds
    and the layer has a value of each.
    """
    seeds = [{row.seed for row in tables["measurements"]} for tables in (first, second)]
    before = {_key(row): row for row in first.get("statements", ())}
    for row in second.get("statements", ()):
        if old := before.get(_key(row)):
            # Fewer values than seeds do not say whose they are.
            paired = seeds[0] == seeds[1] and row.seeds == old.seeds == len(seeds[0])
            pairs = zip(_by_seed(row), _by_seed(old), strict=True) if paired else ()
            each = [now - then for now, then in pairs]
            half = _half(each)
            value = row.value - old.value
            yield Difference(
                row=row, before=old.value, value=value, low=value - half, high=value + half
            )


def compared_sheet(first: str, second: str, found: Iterable[Difference]) -> Sheet:
    """Return the differences of two runs of these names as a sheet, in points."""
    columns = ("learner", "readout", "layer", "quantity", first, second, "difference")
    return Sheet(
        title=f"{second} minus {first}, in points of accuracy",
        columns=columns,
        lines=[_line(each) for each in found],
    )


def _line(each: Difference) -> tuple[str, ...]:
    row, known = each.row, each.low == each.low
    apart = f" [{points(each.low)}, {points(each.high)}]" if known else ""
    values = points(each.before), points(row.value), f"{points(each.value)}{apart}"
    quantity = STATEMENTS[row.statement].replace("_", " ")
    return row.learner, row.readout, row.feature, quantity, *values


def _key(row: StatementRow) -> tuple[str, str, str, str]:
    return row.learner, row.readout, row.feature, row.statement


def _by_seed(row: StatementRow) -> list[float]:
    return [float(text) for text in row.by_seed.split()]


def _half(each: Sequence[float]) -> float:
    """Return half the width of Student's interval of a mean, NaN for fewer than two values."""
    if len(each) < 2:
        return math.nan
    return float(stdtrit(len(each) - 1, (1 + LEVEL) / 2)) * stdev(each) / math.sqrt(len(each))
