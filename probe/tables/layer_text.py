"""Sheets of layers: a line for each layer, and a sentence on where forgetting starts."""

import math
from collections.abc import Iterable, Sequence

from probe.metrics.murata import RETRAIN
from probe.tables.rows import LayerRow, StartRow, SummaryRow
from probe.tables.sheets import Sheet

_COLUMNS = ("accuracy", "floor", "ceiling", "missing", "retained")


def layer_sheets(
    layers: Iterable[LayerRow], starts: Iterable[StartRow], *, given: bool = False
) -> list[Sheet]:
    """Return the rows over all tasks as sheets, one for each learner and readout.

    Numbers are in %, missing in points of accuracy; a dash was not measured. given: whether the
    networks were, so that there is one learner, and seeds are those of retrainings.
    """
    groups: dict[tuple[str, str], list[LayerRow]] = {}
    for row in layers:
        if row.place is None:
            groups.setdefault((row.learner, row.readout), []).append(row)
    said = {(row.learner, row.readout): start_sentence(row) for row in starts}
    return [
        Sheet(
            of="" if given else learner,
            title=_title(readout, own[0].seeds, given),
            columns=("feature", *_COLUMNS),
            lines=_lines(own),
            after=[said[learner, readout]] if (learner, readout) in said else [],
        )
        for (learner, readout), own in groups.items()
    ]


def pra_sheet(summary: Iterable[SummaryRow]) -> Sheet:
    """Return the PRA of each learner's features as one sheet."""
    rows = [row for row in summary if row.measure == "pra"]
    seeds = max((row.seeds for row in rows), default=0)
    over = f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    return Sheet(
        title=f"Partial Retrain Accuracy, in %{over}",
        columns=("learner", "feature", "PRA"),
        lines=[(r.learner, r.feature, mean_cell((r.mean, r.std), " ± ")) for r in rows],
    )


def together(sheets: Sequence[Sheet]) -> Sheet:
    """Return sheets of the same columns as one, with the learner as a first column."""
    first = sheets[0]
    if len(sheets) == 1:
        return first
    return Sheet(
        title=first.title,
        columns=("learner", *first.columns),
        lines=[(sheet.of, *line) for sheet in sheets for line in sheet.lines],
        after=[sentence for sheet in sheets for sentence in sheet.after],
    )


def start_sentence(row: StartRow) -> str:
    """Describe in a sentence where a learner's forgetting starts.

    >>> row = StartRow(learner="er", readout="retrain", feature="conv3", earliest="conv2",
    ...                margin=0.01, value=0.379, low=0.301, high=0.457, seeds=3)
    >>> start_sentence(row).split(" (")[0]
    'er: forgetting starts at conv3'
    >>> start_sentence(row).split(" (")[1]
    '37.9 points below the ceiling, 95 % interval 30.1 to 45.7; at conv2 at the earliest)'
    """
    margin = f"{100 * row.margin:g} point{'' if round(100 * row.margin, 6) == 1 else 's'}"
    if row.seeds == 1:
        return f"{row.learner}: one seed, so no interval"
    if not row.feature:
        may = f" with certainty; {row.earliest} is the first that may" if row.earliest else ""
        return f"{row.learner}: no layer falls more than {margin} below the ceiling{may}"
    earlier = row.earliest not in ("", row.feature)
    earliest = f"; at {row.earliest} at the earliest" if earlier else ""
    value, low, high = (f"{100 * number:.1f}" for number in (row.value, row.low, row.high))
    return (
        f"{row.learner}: forgetting starts at {row.feature} ({value} points below the ceiling, "
        f"95 % interval {low} to {high}{earliest})"
    )


def mean_cell(
    value: tuple[float, float] | None, between: str = "±", scale: int = 100, digits: int = 1
) -> str:
    """Return a mean with its deviation, if there is one, or a dash for what was not measured.

    between: what separates the two; scale: multiplies both; digits: after the decimal point.

    >>> mean_cell((0.5, 0.25)), mean_cell((0.5, math.nan)), mean_cell(None)
    ('50.0±25.0', '50.0', '-')
    """
    if value is None:
        return "-"
    mean, std = (f"{scale * number:.{digits}f}" for number in value)
    return mean if math.isnan(value[1]) else f"{mean}{between}{std}"


def _title(readout: str, seeds: int, given: bool) -> str:
    averaged = "retrainings" if given else "seeds"
    # With given networks only retraining depends on the seed.
    mean = seeds > 1 and (not given or readout == RETRAIN)
    over = f", mean over {seeds} {averaged}" if mean else ""
    return f"readout {readout}, in %{over}{' [95 % interval]' if seeds > 1 else ''}"


def _lines(layers: Iterable[LayerRow]) -> list[tuple[str, ...]]:
    """Return a line for each feature of one learner and readout, by depth."""
    by_feature: dict[str, dict[str, LayerRow]] = {}
    for row in sorted(layers, key=lambda row: row.depth):
        by_feature.setdefault(row.feature, {})[row.quantity] = row
    return [
        (feature, *(_cell(own.get(name), name) for name in _COLUMNS))
        for feature, own in by_feature.items()
    ]


def _cell(row: LayerRow | None, quantity: str) -> str:
    """Return a value in percent, those of the outer columns with their interval."""
    if row is None or math.isnan(row.value):
        return "not identifiable" if row and quantity == "retained" else "-"
    digits = 0 if quantity == "retained" else 1
    value, low, high = (f"{100 * x:.{digits}f}" for x in (row.value, row.low, row.high))
    interval = quantity in ("accuracy", "retained") and not math.isnan(row.low)
    return f"{value} [{low}, {high}]" if interval else value
