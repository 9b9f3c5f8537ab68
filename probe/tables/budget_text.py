"""The sheet of a retraining's budget: accuracy, floor and ceiling after multiples of its epochs."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from probe.analysis.statements import STUCK, UNFINISHED
from probe.metrics.murata import RETRAIN
from probe.tables.rows import CONTROLS, OFFLINE, UNTRAINED, LayerRow, NoteRow
from probe.tables.sheets import Sheet

MEASURED = {"accuracy": "", "floor": UNTRAINED, "ceiling": OFFLINE}
"""Quantities of a curve, with the control that is measured, "" for the learner itself."""

Curve = Mapping[int, Mapping[str, LayerRow]]
"""Rows of one layer over all tasks, by multiple of the epochs and by quantity."""


def multiple_of(readout: str) -> int | None:
    """Return the multiple of the epochs of partial retraining, None for other readouts.

    >>> [multiple_of(readout) for readout in ("retrain", "retrain@4", "retrain@4+bn", "linear")]
    [1, 4, None, None]
    """
    match = re.fullmatch(rf"{RETRAIN}(?:@(\d{{1,5}}))?", readout)
    return int(match[1] or 1) if match else None


def budget_curves(layers: Iterable[LayerRow]) -> dict[tuple[str, str], Curve]:
    """Return the curves of all layers but the output by learner and feature, by depth.

    Without those measured after only one multiple.
    """
    curves: dict[tuple[str, str], dict[int, dict[str, LayerRow]]] = {}
    for row in sorted(layers, key=lambda row: (row.depth, multiple_of(row.readout) or 0)):
        multiple = multiple_of(row.readout)
        if multiple and row.task_position is None and row.learner not in CONTROLS:
            curve = curves.setdefault((row.learner, row.feature), {})
            curve.setdefault(multiple, {})[row.quantity] = row
    # Only the output, where nothing is retrained, has a level of guessing.
    return {
        layer: curve
        for layer, curve in curves.items()
        if len(curve) > 1 and "chance" not in chain(*curve.values())
    }


def budget_sheets(
    layers: Sequence[LayerRow], notes: Iterable[NoteRow], *, given: bool = False
) -> list[Sheet]:
    """Return a sheet for each learner that was retrained for several multiples of the epochs.

    Args:
        layers: The quantities of all layers.
        notes: By which numbers are marked that have not converged.
        given: Whether the networks were, so that there is one learner.
    """
    last = max((row.task_position or 0 for row in layers), default=0)
    unfinished = {
        (row.learner, row.feature, multiple_of(row.readout))
        for row in notes
        if (row.tasks_seen == last or row.learner in CONTROLS)
        and row.note.startswith((UNFINISHED, STUCK))
    }
    lines: dict[str, list[tuple[str, ...]]] = {}
    for (learner, feature), curve in budget_curves(layers).items():
        for multiple, quantities in curve.items():
            cells = []
            for quantity, control in MEASURED.items():
                row = quantities.get(quantity)
                star = "*" * ((control or learner, feature, multiple) in unfinished)
                cells.append(
                    "-" if row is None or math.isnan(row.value) else f"{100 * row.value:.1f}{star}"
                )
            lines.setdefault(learner, []).append((feature, str(multiple), *cells))
    return [
        Sheet(
            of="" if given else learner,
            title="retrained for multiples of the epochs, in %",
            columns=("feature", "epochs x", *MEASURED),
            lines=of_learner,
            after=["*: not converged, more epochs may change it"] * ("*" in str(of_learner)),
        )
        for learner, of_learner in lines.items()
    ]
