"""Hand-made causes and the sentences that follow from them, word for word."""

import math
from typing import Any

import pytest

from probe.tables.cause_text import cause_sentences
from probe.tables.layer_text import layer_sheets
from probe.tables.table_file import all_tables, new_table

Values = dict[str, tuple[float, float]]
FORGOT = {"forgotten": 0.97, "lost": 0.97, "competition": 0.0}
PIECES: Values = {"conv3": (0.447, 0.02), "conv1": (0.003, 0.002), "output": (0.344, 0.01)}
LOST = "of the 97.0 points forgotten of tasks 1 to 4"
COST = ", changes of conv3 cost 44.7 [42.7, 46.7], of output 34.4 [33.4, 35.4]"
RIVALS = " (open: which of conv3, bn cost most)"


def row(feature: str, quantity: str, value: float, half: float = 0.01, **cells: Any) -> Any:
    ends = {"value": value, "low": value - half, "high": value + half, "seeds": 5}
    block = {"feature": feature, "depth": 1 if feature else None, "quantity": quantity}
    given = {"learner": "ft", "score": "accuracy", "task_position": None, **block, **ends}
    return {**given, "sampling_error": 0.0 if quantity == "attributed" else math.nan, **cells}


def causes(pieces: Values, together: Values | None = None, **whole: float) -> Any:
    """Return the table; together: what layers return, and break, alone: by default their points."""
    rows = [row("", name, value) for name, value in (FORGOT | whole).items()]
    rows += [row("", "forgotten", 0.9, task_position=j) for j in (1, 2, 3, 4)]
    for feature, (value, half) in pieces.items():
        rows.append(row(feature, "attributed", value, half))
        restored, broken = (together or {}).get(feature, (value, value))
        rows += [row(feature, "restored", restored), row(feature, "broken", broken)]
    return new_table("causes", rows)


def sentences(table: Any, **cells: Any) -> list[str]:
    return cause_sentences(table.assign(**cells)).get("ft", [])


def test_layers_that_cost_points_are_named_by_their_points_and_small_ones_without() -> None:
    assert sentences(causes(PIECES)) == [f"{LOST}{COST}; conv1 less than 1"]


@pytest.mark.parametrize(
    ("pieces", "whole", "text"),
    [
        ({"bn": (0.02, 0.03)}, {}, "; cannot tell: bn 2.0 [-1.0, 5.0]"),
        ({"bn": (0.3, 0.3004)}, {}, "; cannot tell: bn 30.0 [-0.04, 60.0]"),
        ({"bn": (-0.2, 0.05)}, {}, "; changes of bn gave back 20.0 [15.0, 25.0]"),
        ({}, {"competition": 0.05}, "; more classes compete: 5.0 [4.0, 6.0] points"),
        ({}, {"competition": 0.01}, ""),  # its interval holds 0
    ],
)
def test_every_verdict_is_the_outcome_of_its_interval(
    pieces: Values, whole: dict[str, float], text: str
) -> None:
    large = {name: PIECES[name] for name in ("conv3", "output")}
    rivals = RIVALS * ("30.0" in text)
    assert sentences(causes(large | pieces, **whole)) == [LOST + rivals + COST + text]


def test_few_seeds_give_points_without_a_statement() -> None:
    (text,) = sentences(causes(PIECES, {"conv3": (0.0, 0.9)}), seeds=1, low=math.nan, high=math.nan)
    said = (
        "conv3 cost 44.7, of output 34.4; conv1 less than 1 (1 of the 3 seeds that statements need)"
    )
    assert text.partition(", changes of ")[2] == said


def test_nothing_is_said_of_a_learner_that_is_not_shown_to_forget() -> None:
    assert sentences(causes(PIECES, forgotten=0.0095)) == []
    assert sentences(causes(PIECES), low=-0.1) == []
    assert sentences(new_table("causes")) == []


@pytest.mark.parametrize(
    ("restored", "broken", "words"),
    [
        (0.31, 0.6, ["no single layer: put back alone, output returns the most, 34.4 "]),
        (0.7, 0.2, ["layers changed together: put back alone, conv3 returns the most, 70.0 "]),
        (0.31, 0.32, []),  # their intervals meet
        (0.965, 0.2, []),  # this layer returns all
    ],
)
def test_layers_that_changed_together_are_no_single_cause(
    restored: float, broken: float, words: list[str]
) -> None:
    found = sentences(causes(PIECES, {"conv3": (restored, broken)}))[1:]
    assert [text.partition("[")[0] for text in found] == words


def test_of_many_layers_the_first_are_named_and_drawn_orders_have_an_error() -> None:
    table = causes({f"block{k}": (0.1 - k / 1000, 0.01) for k in range(9)})
    (text,) = sentences(table, sampling_error=0.004)
    assert " (open: which of block0, block1, block2, block3, 5 more cost most), changes of " in text
    assert "of block3 9.7 [8.7, 10.7], of 5 more; drawing orders of layers adds" in text


def test_the_sentences_stand_once_at_the_end() -> None:
    cells = {"learner": "ft", "feature": "conv3", "depth": 3, "quantity": "missing", "value": 0.5}
    layers = [{**cells, "readout": r, "low": 0.4, "high": 0.6, "seeds": 5} for r in ("a", "b")]
    tables = all_tables(causes=causes(PIECES), layers=new_table("layers", layers))
    named = [f"ft: {text}" for text in sentences(causes(PIECES))]
    assert [sheet.after for sheet in layer_sheets(tables)] == [[], named]
