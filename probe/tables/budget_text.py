"""The sheet of a retraining's budget: accuracy, floor and ceiling after multiples of its epochs."""

import re

import pandas as pd

from probe.analysis.statements import STUCK, UNFINISHED
from probe.metrics.murata import RETRAIN
from probe.tables.layer_text import count_tasks
from probe.tables.schemas import CONTROLS, OFFLINE, UNTRAINED
from probe.tables.sheets import Sheet

MEASURED = {"accuracy": "", "floor": UNTRAINED, "ceiling": OFFLINE}
"""Quantities of a curve, with the control that is measured, "" for the learner itself."""


def multiple_of(readout: str) -> int | None:
    """Return the multiple of the epochs of partial retraining, None for other readouts.

    >>> [multiple_of(readout) for readout in ("retrain", "retrain@4", "retrain@4+bn", "linear")]
    [1, 4, None, None]
    """
    match = re.fullmatch(rf"{RETRAIN}(?:@(\d{{1,5}}))?", readout)
    return int(match[1] or 1) if match else None


def budget_curves(layers: pd.DataFrame) -> pd.DataFrame:
    """Return the rows over all tasks of layers that were retrained for several multiples.

    Args:
        layers: The quantities of all layers.

    Returns:
        The rows by depth and multiple, which is a further column, without the output's.
    """
    rows = layers[layers["task_position"].isna() & ~layers["learner"].isin(CONTROLS)]
    rows = rows.assign(multiple=rows["readout"].map(multiple_of, na_action="ignore"))
    rows = rows.dropna(subset="multiple").astype({"multiple": int})
    rows = rows.sort_values(["depth", "multiple"])
    groups = rows.assign(guessed=rows["quantity"] == "chance").groupby(["learner", "feature"])
    # Only the output, where nothing is retrained, has a level of guessing.
    return rows[(groups["multiple"].transform("nunique") > 1) & ~groups["guessed"].transform("any")]


def budget_sheets(layers: pd.DataFrame, notes: pd.DataFrame, *, given: bool = False) -> list[Sheet]:
    """Return a sheet for each learner that was retrained for several multiples of the epochs.

    Args:
        layers: The quantities of all layers.
        notes: Notes on trainings: numbers that have not converged get a star.
        given: Whether the networks were, so that there is one learner.
    """
    at_end = (notes["tasks_seen"] == count_tasks(layers)) | notes["learner"].isin(CONTROLS)
    doubted = notes[at_end & notes["note"].str.startswith((UNFINISHED, STUCK))]
    multiples = doubted["readout"].map(multiple_of)
    unfinished = set(zip(doubted["learner"], doubted["feature"], multiples, strict=True))
    lines: dict[str, list[tuple[str, ...]]] = {}
    curves = budget_curves(layers).groupby(["learner", "feature", "multiple"], sort=False)
    for (learner, feature, multiple), rows in curves:
        value_of = dict(zip(rows["quantity"], rows["value"], strict=True))
        cells = []
        for quantity, control in MEASURED.items():
            star = "*" * ((control or learner, feature, multiple) in unfinished)
            value = value_of.get(quantity, float("nan"))
            cells.append("-" if value != value else f"{100 * value:.1f}{star}")
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
