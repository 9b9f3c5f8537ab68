"""The answer in words, for hand-made tables."""

from dataclasses import replace
from typing import Any

import pytest

from figures.report.answer import answers
from probe.tables.rows import NoteRow, StartRow
from tests.figures.report.hand_made import stated, tables

ALL = {"conv1": 0.0, "conv2": 0.0, "output": 0.0}
OUTPUT = stated("output", "yes", 0.6), stated("output", "yes", 0.4, "falls_below")
ONE = [
    stated("conv1", "no", 0.0),
    stated("conv2", "yes", 0.21),
    *(stated(f, "no", 0.0, "falls_below") for f in ("conv1", "conv2")),
    *OUTPUT,
]


def answer(statements: list[Any], missing: dict[str, float], **others: Any) -> Any:
    (found,) = answers(tables(statements, missing, **others))
    return found


def test_forgetting_at_one_layer_and_what_the_output_lacks() -> None:
    found = answer(ONE, {"conv1": 0.0, "conv2": 0.05, "output": 0.4})
    assert found.first == (
        "conv2 forgot 21.0 points [20.0, 22.0] of tasks 1 to 2; output forgot 60.0 points "
        "[59.0, 61.0] of tasks 1 to 2; conv1: less than 1.0 points; of the 40.0 points that the "
        "output lacks, 35.0 can be rebuilt from conv2 (from an untrained one -10.0)"
    )
    assert found.caveats == []


def test_what_was_never_learned_is_no_forgetting() -> None:
    never = [stated("conv2", "no", 0.0), stated("conv2", "yes", 0.07, "acquires_less")]
    expected = "conv2: less than 1.0 points; conv2 never learned 7.0 points [6.0, 8.0]"
    assert answer(never, ALL).first == expected


def test_readouts_that_disagree_are_a_caveat() -> None:
    """By retraining conv1 falls below the ceiling first, by the linear readout conv2."""
    retrained = [replace(row, readout="retrain") for row in ONE]
    starts = [
        StartRow(
            learner="ft",
            readout=readout,
            statement="falls_below",
            earliest=at,
            latest=at,
            seeds=5,
            needed=None,
        )
        for readout, at in (("retrain", "conv1"), ("linear", "conv2"))
    ]
    (caveat,) = answer([*retrained, *ONE], ALL, starts=starts).caveats
    assert caveat.startswith("retrain and linear differ on where ft falls below the ceiling first")


def test_nothing_is_rebuilt_where_the_layer_before_lacks_half_as_much() -> None:
    found = answer(ONE, {"conv1": 0.0, "conv2": 0.2, "output": 0.4})
    assert "rebuilt" not in found.first


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("no", "conv1, conv2: less than 1.0 points"),
        ("open", "conv1, conv2: nothing that can be shown"),
        ("not converged", "conv1, conv2: not judged, as a training has not converged"),
        (
            "near chance",
            "conv1, conv2: not judged, as the accuracy on the first task is near chance",
        ),
        ("few seeds", "conv1, conv2: not judged, as fewer than three seeds are finished"),
    ],
)
def test_layers_of_one_verdict_are_told_together(verdict: str, words: str) -> None:
    assert answer([stated(f, verdict, 0.0) for f in ("conv1", "conv2")], ALL).first == words


CAVEATS: dict[str, tuple[dict[str, Any], str]] = {
    "room": (
        {"room": 0.01},
        "little room at conv1, conv2, output: an untrained network is within 2 points of the "
        "offline one, and a layer that lacks more is worse than untrained",
    ),
    "order": ({"orders": 1}, "one task order: a task and its position cannot be told apart"),
    "constant": (
        {
            "notes": [
                NoteRow(
                    learner="ft",
                    order="0",
                    seed=0,
                    feature="",
                    note="it predicts class 3 for every test example",
                )
            ]
        },
        "1 network predicts one class for every example",
    ),
}


@pytest.mark.parametrize("name", CAVEATS)
def test_what_limits_an_answer_stands_beside_it(name: str) -> None:
    others, caveat = CAVEATS[name]
    assert answer(ONE, ALL).caveats == []
    assert answer(ONE, ALL, **others).caveats == [caveat]


def test_few_seeds_and_no_convergence() -> None:
    few = [replace(row, seeds=1, verdict="few seeds") for row in ONE]
    assert answer(few, ALL).caveats == ["1 seed: intervals over seeds need three"]
    never = [replace(row, verdict="not converged") for row in ONE if row.feature == "conv2"]
    assert answer(never, ALL).caveats == ["trainings downstream of conv2 have not converged"]


def test_without_a_control_there_is_no_answer() -> None:
    assert answers(tables([], {})) == []
