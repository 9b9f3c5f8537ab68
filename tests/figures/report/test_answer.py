"""The answer in words, for hand-made tables."""

import math
from dataclasses import replace
from typing import Any

import pytest

from figures.report.answer import answers
from figures.report.page import report
from probe.tables.rows import FirstLayerRow, NoteRow
from probe.tables.statement_text import WITHHELD
from tests.figures.report.hand_made import layers, stated, tables

ALL = {"conv1": 0.0, "conv2": 0.0, "output": 0.0}
OUTPUT = stated("output", "yes", 0.6), stated("output", "yes", 0.4, "below_ceiling")
ONE = [
    stated("conv1", "no", 0.0),
    stated("conv2", "yes", 0.21),
    *(stated(f, "no", 0.0, "below_ceiling") for f in ("conv1", "conv2")),
    *OUTPUT,
]


def answer(statements: list[Any], missing: dict[str, float], **others: Any) -> Any:
    (found,) = answers(tables(statements, missing, **others))
    return found


def test_forgetting_at_one_layer_and_what_the_output_lacks() -> None:
    found = answer(ONE, {"conv1": 0.0, "conv2": 0.05, "output": 0.4})
    assert found.first == (
        "conv2 forgot 21.0 points [20.0, 22.0], output 60.0 [59.0, 61.0] on tasks 1 to 2; conv1 "
        "forgot less than 1 point; of the 40.0 points missing at output, a readout of conv2 "
        "recovers 35.0 (an untrained conv2: none)"
    )
    assert found.caveats == []


def test_what_was_never_learned_is_no_forgetting() -> None:
    never = [stated("conv2", "no", 0.0), stated("conv2", "yes", 0.07, "learns_less")]
    assert answer(never, ALL).first == (
        "conv2 forgot less than 1 point; conv2 never learned 7.0 points [6.0, 8.0] of what offline "
        "training learns"
    )


def test_what_was_learned_later_was_not_never_learned() -> None:
    late = [stated("conv2", "no", -0.1), stated("conv2", "yes", 0.12, "learns_less")]
    assert answer(late, ALL).first == (
        "conv2 gained 10.0 points [9.0, 11.0] on tasks 1 to 2; conv2 at first lacked 12.0 points "
        "[11.0, 13.0] of what offline training learns"
    )


def test_readouts_that_disagree_are_a_caveat() -> None:
    """By retraining conv1 falls below the ceiling first, by the linear readout conv2."""
    retrained = [replace(row, readout="retrain") for row in ONE]
    first_layer = [
        FirstLayerRow(
            learner="ft",
            readout=readout,
            statement="below_ceiling",
            first_possible=at,
            first_confirmed=at,
            seeds=5,
            seeds_needed=None,
        )
        for readout, at in (("retrain", "conv1"), ("linear", "conv2"))
    ]
    (caveat,) = answer([*retrained, *ONE], ALL, first_layer=first_layer).caveats
    assert caveat.startswith("retrain and linear differ on where ft falls below the ceiling first")


def test_nothing_is_given_back_where_the_layer_before_lacks_half_as_much() -> None:
    found = answer(ONE, {"conv1": 0.0, "conv2": 0.2, "output": 0.4})
    assert "recovers" not in found.first


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("no", "conv1, conv2 forgot less than 1 point"),
        ("open", "conv1, conv2: no forgetting shown"),
        *((verdict, f"conv1, conv2: not judged, as {why}") for verdict, why in WITHHELD.items()),
    ],
)
def test_layers_of_one_verdict_are_told_together(verdict: str, words: str) -> None:
    assert answer([stated(f, verdict, 0.0) for f in ("conv1", "conv2")], ALL).first == words


def test_an_interval_above_0_is_told_also_where_it_holds_the_margin() -> None:
    """Layers that forgot less than their margins are named by each margin."""
    rows = [stated("conv1", "open", 0.012), stated("conv2", "no", 0.0), stated("output", "no", 0.0)]
    rows[2] = replace(rows[2], margin=0.08)
    assert answer(rows, ALL).first == (
        "conv1 forgot 1.2 points [0.2, 2.2] on tasks 1 to 2, not shown to exceed 1 point; "
        "conv2 forgot less than 1 point; output forgot less than 8 points"
    )


CAVEATS: dict[str, tuple[dict[str, Any], str]] = {
    "room": (
        {"room": 0.01},
        "little room at conv1, conv2, output: there an untrained network comes within 2 points of "
        "the ceiling, and a layer that is further below it is worse than untrained",
    ),
    "order": (
        {"orders": 1},
        "one task order: effects of a task and of its position cannot be told apart",
    ),
    "constant": (
        {
            "notes": [
                NoteRow(
                    learner="ft",
                    order="0",
                    seed=0,
                    feature=feature,
                    tasks_seen=3,
                    note="it predicts class 3 for every test example",
                )
                for feature in ("", "conv1")  # of the network, and of one retrained from conv1
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


@pytest.mark.parametrize("control", ["floor", "ceiling"])
def test_a_control_that_was_not_measured_is_told_and_not_compared_with(control: str) -> None:
    left = [row for row in layers(ALL, room=0.01) if row.quantity != control]
    (caveat,) = answer(ONE, ALL, layers=left).caveats
    assert caveat.startswith(f"no {control} was measured: ")


def test_few_seeds_and_no_convergence() -> None:
    few = [replace(row, seeds=1, verdict="few seeds") for row in ONE]
    assert answer(few, ALL).caveats == ["1 seed: statements need at least three"]
    never = [replace(row, verdict="not converged") for row in ONE if row.feature == "conv2"]
    assert answer(never, ALL).caveats == ["some trainings downstream of conv2 have not converged"]


def test_a_negative_loss_is_a_gain_where_the_interval_shows_it() -> None:
    gained = [stated("conv1", "no", -0.05), stated("conv2", "no", -0.015)]
    assert answer(gained, ALL).first == (
        "conv1 gained 5.0 points [4.0, 6.0] on tasks 1 to 2; conv2 forgot less than 1 point"
    )


def test_values_that_are_not_a_number_say_nothing() -> None:
    unknown: Any = {"value": math.nan, "low": math.nan, "high": math.nan}
    nowhere = [replace(row, **unknown, verdict="open") for row in ONE]
    lacking = [replace(row, **unknown) for row in layers(ALL)]
    one = answer(nowhere, ALL, layers=lacking)
    assert one.first == "conv1, conv2, output: no forgetting shown"
    figures = report({"toy": tables(nowhere, ALL, layers=lacking)}, {}).split("</nav>")[1]
    assert "nan" not in figures.split("<footer")[0]


def test_of_many_layers_some_are_named_by_the_ends_of_their_names() -> None:
    names = [f"backbone.encoder.layers.{k}.attention.output" for k in range(12)]
    many = [
        replace(stated("conv1", "yes", 0.1), feature=name, depth=depth)
        for depth, name in enumerate(names, 1)
    ]
    found = answer(many, ALL).first
    assert found.startswith("…0.attention.output forgot 10.0 points [9.0, 11.0], …1.attention")
    assert found.endswith("8 more, …11.attention.output 10.0 [9.0, 11.0] on tasks 1 to 2")


def test_one_task_cannot_be_forgotten() -> None:
    alone = [replace(row, task_position=None) for row in layers(ALL)]
    (found,) = answers(tables([stated("conv1", "no", 0.0, "below_ceiling")], ALL, layers=alone))
    assert found.first == "it learned one task, and had nothing to forget"


def test_without_a_control_there_is_no_answer() -> None:
    assert answers(tables([], {})) == []
