"""The sheet of a retraining's budget: accuracy, floor and ceiling after multiples of its epochs."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from probe.metrics.murata import RETRAIN
from probe.tables.rows import CONTROLS, OFFLINE, UNTRAINED, LayerRow, RetrainingRow
from probe.tables.sheets import Sheet
from probe.training.history import History

Curve = Mapping[int, Mapping[str, LayerRow]]
"""Rows of one layer over all tasks, by multiple of the epochs and by quantity."""

_At = tuple[str, str, int]  # a learner, a feature, a multiple

_UNDER = "*: not converged in all trainings, more epochs may change it"
_COLUMNS = ("accuracy", "floor", "ceiling")


def multiple_of(readout: str) -> int | None:
    """Return the multiple of the epochs of partial retraining, None for other readouts.

    >>> [multiple_of(readout) for readout in ("retrain", "retrain@4", "retrain@4+bn", "linear")]
    [1, 4, None, None]
    """
    found = re.fullmatch(rf"{RETRAIN}(?:@(\d{{1,5}}))?", readout)
    return int(found[1] or 1) if found else None


def budget_curves(layers: Iterable[LayerRow]) -> dict[tuple[str, str], Curve]:
    """Return the curves of all layers but the output by learner and feature, by depth.

    Without those measured after one multiple alone.
    """
    curves: dict[tuple[str, str], dict[int, dict[str, LayerRow]]] = {}
    for row in sorted(layers, key=lambda row: row.depth):
        multiple = multiple_of(row.readout)
        if multiple and row.place is None and row.learner not in CONTROLS:
            curve = curves.setdefault((row.learner, row.feature), {})
            curve.setdefault(multiple, {})[row.quantity] = row
    # At the output, which alone has a level of guessing, nothing is retrained.
    return {
        at: dict(sorted(curve.items()))
        for at, curve in curves.items()
        if len(curve) > 1 and not any("chance" in own for own in curve.values())
    }


def budget_sheets(
    layers: Iterable[LayerRow], epochs: Iterable[RetrainingRow], *, given: bool = False
) -> list[Sheet]:
    """Return a sheet for each learner that was retrained for several multiples of the epochs.

    epochs: of all retrainings, by which numbers are marked that have not converged; given: whether
    the networks were, so that there is one learner.
    """
    curves = budget_curves(layers)
    multiples = {each for curve in curves.values() for each in curve}
    converged = _converged(epochs if curves else (), multiples)
    lines = defaultdict[str, list[tuple[str, ...]]](list)
    for (learner, feature), curve in curves.items():
        for multiple, own in curve.items():
            who = (learner, UNTRAINED, OFFLINE)
            known = (converged.get((each, feature, multiple)) for each in who)
            cells = map(_cell, map(own.get, _COLUMNS), known)
            lines[learner].append((feature, str(multiple), *cells))
    return [
        Sheet(
            of="" if given else learner,
            title="retrained for multiples of the epochs, in %",
            columns=("feature", "epochs x", *_COLUMNS),
            lines=own,
            after=[_UNDER] * any(cell.endswith("*") for line in own for cell in line),
        )
        for learner, own in lines.items()
    ]


def _converged(epochs: Iterable[RetrainingRow], multiples: Set[int]) -> dict[_At, bool]:
    """Return whether all trainings after all tasks converged."""
    runs = defaultdict[tuple[str, str, str, int, str, int], list[RetrainingRow]](list)
    for row in epochs:
        runs[row.learner, row.feature, row.readout, row.step, row.order, row.seed].append(row)
    last = {learner: step for learner, *_, step, _, _ in sorted(runs, key=lambda run: run[3])}
    found: dict[_At, bool] = {}
    for (learner, feature, readout, step, *_), own in runs.items():
        most = multiple_of(readout) if step == last[learner] else None
        for multiple in (each for each in multiples if most and each <= most):
            at = learner, feature, multiple
            until = _history(own).until(multiple * (len(own) - 1) // (most or 1))
            found[at] = found.get(at, True) and until.converged
    return found


def _history(epochs: Sequence[RetrainingRow]) -> History:
    """Return the history of one training; epochs: its rows."""
    each = sorted(epochs, key=lambda row: row.epoch)
    return History(
        losses=tuple(row.loss for row in each),
        accuracies=tuple(row.accuracy for row in each[1:]),
    )


def _cell(row: LayerRow | None, converged: bool | None) -> str:
    """Return a value in percent, with a star where a training has not converged."""
    if row is None or math.isnan(row.value):
        return "-"
    return f"{100 * row.value:.1f}{'*' * (converged is False)}"
