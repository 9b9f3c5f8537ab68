"""The sheet of a retraining's budget marks what has not converged, multiple by multiple."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

from probe.analysis.statements import UNFINISHED
from probe.tables.budget_text import budget_sheets
from probe.tables.rows import LayerRow, NoteRow

QUANTITIES = {"accuracy": 0.61, "floor": 0.85, "ceiling": nan, "missing": 0.3}


def layers(readout: str, *, feature: str = "conv1", **quantities: float) -> list[LayerRow]:
    at: dict[str, Any] = {"learner": "er", "readout": readout, "feature": feature, "depth": 1}
    row = LayerRow(**at, task_position=None, quantity="", value=0.0, low=nan, high=nan, seeds=2)
    known = QUANTITIES | quantities
    of_tasks = [
        replace(row, quantity="accuracy", task_position=task_position) for task_position in (1, 2)
    ]
    return [*of_tasks, *(replace(row, quantity=q, value=value) for q, value in known.items())]


def note(learner: str, readout: str, tasks_seen: int, said: str = UNFINISHED) -> NoteRow:
    return NoteRow(
        learner=learner,
        order="",
        seed=0,
        feature="conv1",
        note=said,
        tasks_seen=tasks_seen,
        readout=readout,
    )


def test_a_star_marks_a_multiple_after_which_some_training_had_not_converged() -> None:
    measured = [*layers("retrain@3", accuracy=0.9), *layers("retrain"), *layers("linear")]
    once = layers("retrain", feature="conv2")
    output = [row for r in ("retrain", "retrain@3") for row in layers(r, feature="z", chance=0.1)]
    noted = [note("er", "retrain", 2), note("untrained", "retrain@3", 0)]
    others = [note("er", "retrain@3", 1), note("er", "retrain@3", 2, "it is random")]
    (sheet,) = budget_sheets([*measured, *once, *output], [*noted, *others])
    assert sheet.heading == "er, retrained for multiples of the epochs, in %"
    assert sheet.lines == [
        ("conv1", "1", "61.0*", "85.0", "-"),
        ("conv1", "3", "90.0", "85.0*", "-"),
    ]
    assert [sentence[0] for sentence in sheet.after] == ["*"]
    assert budget_sheets(once, noted) == []
