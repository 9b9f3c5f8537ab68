"""The sheet of a retraining's budget marks what has not converged, multiple by multiple."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import nan
from typing import Any

from probe.tables.budget_text import budget_sheets
from probe.tables.rows import LayerRow, RetrainingRow

QUANTITIES = {"accuracy": 0.61, "floor": 0.85, "ceiling": nan, "missing": 0.3}
LEVEL, FALLING = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0), (2.0, 1.8, 1.6, 1.4, 1.4, 1.4)


def layers(readout: str, *, feature: str = "conv1", **quantities: float) -> list[LayerRow]:
    at: dict[str, Any] = {"learner": "er", "readout": readout, "feature": feature, "depth": 1}
    row = LayerRow(**at, place=None, quantity="", value=0.0, low=nan, high=nan, seeds=2)
    known = QUANTITIES | quantities
    return [replace(row, quantity=name, value=value) for name, value in known.items()]


def epochs(
    learner: str, losses: tuple[float, ...], *, seed: int = 0, step: int = 2
) -> Iterator[RetrainingRow]:
    """Yield the rows of a training of three multiples of two epochs."""
    at: dict[str, Any] = {"learner": learner, "order": "", "seed": seed, "step": step}
    for epoch, loss in enumerate((2.3, *losses)):
        accuracy = 0.5 if epoch else nan
        yield RetrainingRow(
            **at, feature="conv1", readout="retrain@3", epoch=epoch, loss=loss, accuracy=accuracy
        )


def test_a_star_marks_a_multiple_after_which_some_training_had_not_converged() -> None:
    measured = [*layers("retrain@3", accuracy=0.9), *layers("retrain"), *layers("linear")]
    once = layers("retrain", feature="conv2")
    output = [row for r in ("retrain", "retrain@3") for row in layers(r, feature="z", chance=0.1)]
    trained = [
        *epochs("er", LEVEL),
        *epochs("er", FALLING, seed=1),
        *epochs("er", FALLING, step=1),
        *epochs("untrained", LEVEL, step=0),
    ]
    (sheet,) = budget_sheets([*measured, *once, *output], trained)
    assert sheet.heading == "er, retrained for multiples of the epochs, in %"
    assert sheet.lines == [
        ("conv1", "1", "61.0*", "85.0", "-"),
        ("conv1", "3", "90.0", "85.0", "-"),
    ]
    assert [sentence[0] for sentence in sheet.after] == ["*"]
    assert budget_sheets(once, trained) == []
