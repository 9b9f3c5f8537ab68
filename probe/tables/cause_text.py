"""Sentences on what the change of each layer cost, see `probe.rewinding.hybrids`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from probe.analysis.statements import FEWEST
from probe.tables.statement_text import earlier_tasks, points
from probe.tables.table_file import records, where

_COST, _RETURNED, _OPEN, _LESS = "cost", "gave back", "cannot tell", "less than 1"
_LITTLE = 0.01
_MOST = 4  # layers that are named in a row


def cause_sentences(causes: pd.DataFrame) -> dict[str, list[str]]:
    """Return the sentences on the causes of each learner's forgetting.

    A layer's change cost points if the interval lies above 0, and less than 1 point if it lies
    within 1 point of 0. With too few seeds the points are listed without a statement. There is no
    sentence on a learner that forgot less than 1 point, or is not shown to have forgotten any.

    Args:
        causes: The table `causes`.

    Returns:
        The sentences by learner.
    """
    rows = where(causes, score="accuracy").dropna(subset="value")
    groups = rows.groupby("learner", sort=False)
    return {learner: list(_sentences(rows)) for learner, rows in groups}


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    mean = {(r.quantity, r.feature): r for r in records(where(rows, task_position=None))}
    total = mean.get(("forgotten", "")) or mean.get(("lost", ""))
    if total is None or total.value < _LITTLE:
        return
    is_few, positions = total.seeds < FEWEST, rows["task_position"].dropna()
    if is_few:
        mean = {key: row._replace(low=row.value, high=row.value) for key, row in mean.items()}
    elif not total.low > 0:
        return
    said = "forgotten" if total.quantity == "forgotten" else "lost"
    whole = (
        f"{points(total.value)} points {said} of {earlier_tasks(positions, int(max(positions)))}"
    )
    unranked = "" if is_few else _unranked(mean)
    sentence = f"of the {whole}{unranked}, {'; '.join(_parts(mean, is_few))}"
    few = f" ({total.seeds} of the {FEWEST} seeds that statements need)"
    yield sentence + few * bool(is_few)
    if not is_few:
        yield from _no_single_layer(mean)


def _parts(mean: dict[tuple[str, str], Any], is_few: bool) -> Iterator[str]:
    """Yield what layers cost, the most first, by the outcome of the test of each."""
    layers = [row for (quantity, _), row in mean.items() if quantity == "attributed"]
    by_verdict = defaultdict(list)
    for row in sorted(layers, key=lambda row: -row.value):
        by_verdict[verdict(row)].append((row.feature, _with_ends(row, is_few)))
    if not by_verdict[_COST]:
        yield "no layer's change is shown to have cost any"
    for verb in (_COST, _RETURNED):
        if by_verdict[verb]:
            (layer, value), *others = by_verdict[verb]
            cells = [f"{layer} {verb} {value}", *map(" ".join, others)]
            yield f"changes of {_listed(cells, ', of ')}"
    if by_verdict[_OPEN]:
        yield f"{_OPEN}: {_listed([*map(' '.join, by_verdict[_OPEN])])}"
    if by_verdict[_LESS]:
        yield f"{_listed([layer for layer, _ in by_verdict[_LESS]])} {_LESS}"
    competition = mean.get(("competition", ""))
    if competition and verdict(competition) in (_COST, _RETURNED):
        sign = "-" * (competition.high < 0)
        yield f"more classes compete: {sign}{_with_ends(competition, is_few)} points"
    if (error := max((row.sampling_error for row in layers), default=0)) >= 0.0005:
        yield f"drawing orders of layers adds a standard error of up to {points(error)}"


def _unranked(mean: dict[tuple[str, str], Any]) -> str:
    """Return the layers any of which may have cost most, in brackets, if there are several."""
    layers = [row for (quantity, _), row in mean.items() if quantity == "attributed"]
    rivals = [row for row in layers if verdict(row) in (_COST, _OPEN)]
    least = max((row.low for row in rivals), default=0)
    equal = [row.feature for row in rivals if row.high >= least]
    if len(equal) < 2 or least <= 0:
        return ""
    return f" (open: which of {_listed(equal)} cost most)"


def verdict(row: Any) -> str:
    """Decide by its interval whether a change cost points, gave some back, or did little."""
    if row.low > -_LITTLE and row.high < _LITTLE:
        return _LESS
    return _COST if row.low > 0 else _RETURNED if row.high < 0 else _OPEN


def _no_single_layer(mean: dict[tuple[str, str], Any]) -> Iterator[str]:
    """Yield that layers changed together, if only together they return what was lost.

    That is if putting back the layer with most points returns more or less than its change breaks.
    """
    by_quantity = {
        quantity: [row for (name, _), row in mean.items() if name == quantity]
        for quantity in ("attributed", "restored")
    }
    most, best = (max(rows, key=lambda row: row.value) for rows in by_quantity.values())
    restored, broken = mean["restored", most.feature], mean["broken", most.feature]
    lost = mean["lost", ""]
    apart = restored.high < broken.low or broken.high < restored.low
    if apart and best.high < lost.low:
        is_minor = 2 * best.high < lost.value
        yield (
            f"{'no single layer' if is_minor else 'layers changed together'}: put back alone, "
            f"{best.feature} returns the most, {_with_ends(best)} of {points(lost.value)} points"
        )


def _with_ends(row: Any, is_few: bool = False) -> str:
    """Return points with their interval; those that a change gave back are positive."""
    sign = -1 if row.high < 0 else 1
    ends = ", ".join(_end(end) for end in sorted((sign * row.low, sign * row.high)))
    return points(sign * row.value) + f" [{ends}]" * (not is_few)


def _end(end: float) -> str:
    """Return the end of an interval in points, with more digits if it would be printed as 0.0."""
    return points(end) if abs(end) >= 0.0005 or not end else f"{100 * end:.1g}"


def _listed(cells: Sequence[str], between: str = ", ") -> str:
    more = len(cells) - _MOST
    return between.join([*cells[:_MOST], f"{more} more"] if more > 1 else cells)
