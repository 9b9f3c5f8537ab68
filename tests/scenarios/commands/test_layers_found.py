"""Layers on the screen: which numbers stand where, and where forgetting is said to start."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from probe.tables.layer_text import layer_sheets, start_sentence
from probe.tables.rows import LayerRow, StartRow
from probe.tables.table_file import write_table
from scenarios.commands.screen.layers_found import show_layers_found
from tests.scenarios.commands.test_terminal import EVIL, TAMED

UNKNOWN = (math.nan, math.nan, math.nan)
VALUES = {
    ("conv1", "accuracy"): (0.9612, 0.9501, 0.9702),
    ("conv1", "floor"): (0.969, 0.96, 0.98),
    ("conv1", "ceiling"): (0.964, 0.95, 0.97),
    ("conv1", "missing"): (0.0028, -0.01, 0.02),
    ("conv1", "retained"): UNKNOWN,
    ("conv3", "accuracy"): (0.584, 0.5049, 0.6631),
    ("conv3", "ceiling"): (0.963, 0.95, 0.97),
    ("conv3", "missing"): (0.379, 0.301, 0.457),
    ("conv3", "retained"): (-2.239, -2.941, -1.539),
}
NUMBERS = dict(zip(("value", "low", "high"), VALUES["conv3", "missing"], strict=True))
START = StartRow(
    learner="ft", readout="retrain", feature="conv3", earliest="conv2", margin=0.01, seeds=3,
    **NUMBERS,
)  # fmt: skip


def rows(learner: str = "ft", readout: str = "retrain", seeds: int = 3) -> list[LayerRow]:
    made = []
    for (feature, quantity), (value, low, high) in VALUES.items():
        at = {"learner": learner, "readout": readout, "feature": feature, "quantity": quantity}
        interval = {"low": low, "high": high} if seeds > 1 else {"low": math.nan, "high": math.nan}
        numbers = {"depth": int(feature[-1]), "place": None, "value": value, "seeds": seeds}
        made.append(LayerRow(**at, **interval, **numbers))  # type: ignore[arg-type]
    return made


@pytest.fixture
def shown(tmp_path: Path) -> Callable[..., list[str]]:
    """Return the lines that are printed of tables with these rows."""

    def call(layers: list[LayerRow], starts: list[StartRow], width: int = 80) -> list[str]:
        write_table(tmp_path / "layers.csv", LayerRow, layers)
        write_table(tmp_path / "starts.csv", StartRow, starts)
        out = io.StringIO()
        show_layers_found(Console(file=out, width=width), tmp_path)
        return [line.rstrip() for line in out.getvalue().splitlines() if line.strip(" ─")]

    return call


def test_a_line_for_each_layer_in_percent_with_intervals(shown: Any) -> None:
    """Rows of single tasks and of the controls have no part in it; a dash was not measured."""
    of_one_task = [replace(row, value=0.5, place=1) for row in rows()]
    others = [*of_one_task, *rows("offline"), *rows("untrained")]
    assert [" ".join(line.split()) for line in shown([*rows()[::-1], *others], [START])] == [
        "Missing in each layer with everything downstream retrained (readout retrain)",
        "ft, readout retrain, in %, mean over 3 seeds [95 % interval]",
        "feature accuracy floor ceiling missing retained",
        "conv1 96.1 [95.0, 97.0] 96.9 96.4 0.3 not identifiable",
        "conv3 58.4 [50.5, 66.3] - 96.3 37.9 -224 [-294, -154]",
        "ft: forgetting starts at conv3 (37.9 points below the ceiling, 95 % interval 30.1 "
        "to 45.7; at conv2 at the earliest)",
    ]


def test_a_table_for_each_learner_and_known_readout_with_its_sentence(shown: Any) -> None:
    readouts = ("linear", "knn", "retrain@2", "retrain")
    layers = [row for r in readouts for learner in ("er", "ft") for row in rows(learner, r)]
    lines = shown(layers, [START, replace(START, learner="er", readout="linear", feature="conv1")])
    said = [line for line in lines if line[:7] != " featur" and line[:5] != " conv"]
    assert [line.split(" (")[0].split(", in %")[0] for line in said] == [
        "Missing in each layer with everything downstream retrained",
        "er, readout retrain",
        "ft, readout retrain",
        "ft: forgetting starts at conv3",
        "Missing in each layer to a linear classifier downstream",
        "er, readout linear",
        "er: forgetting starts at conv1",
        "ft, readout linear",
    ]


def test_given_networks_have_retrainings_for_seeds() -> None:
    layers = [*rows(), *rows(readout="linear")]
    assert [sheet.heading for sheet in layer_sheets(layers, [], given=True)] == [
        "readout retrain, in %, mean over 3 retrainings [95 % interval]",
        "readout linear, in % [95 % interval]",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"earliest": "conv3"}, "95 % interval 30.1 to 45.7)"),
        ({"feature": "", "earliest": ""}, "ft: no layer falls more than 1 point below the ceiling"),
        ({"feature": "", "margin": 0.025}, "more than 2.5 points below the ceiling with certainty; "
        "conv2 is the first that may"),
        ({"seeds": 1}, "ft: one seed, so no interval"),
    ],
)  # fmt: skip
def test_where_forgetting_starts_in_a_sentence(changes: dict[str, str | float], said: str) -> None:
    assert start_sentence(replace(START, **changes)).endswith(said)  # type: ignore[arg-type]


@pytest.mark.parametrize("seeds", [1, 3])
def test_long_names_are_folded_and_no_line_is_cut_or_longer_than_80(shown: Any, seeds: int) -> None:
    name = "features.denseblock1.denselayer2.conv"
    lines = shown([replace(row, feature=name + row.feature[-1]) for row in rows(seeds=seeds)], [])
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert name in "".join(line.split()[0] for line in lines[3:])
    assert ("95.0, 97.0]" in " ".join(lines)) == (seeds == 3)


def test_names_are_shown_and_not_obeyed(shown: Any) -> None:
    layers = [replace(row, feature=EVIL) for row in rows(EVIL)]
    text = "\n".join(shown(layers, [replace(START, learner=EVIL, feature=EVIL)], width=200))
    assert text.count(TAMED) == 4


def test_tables_may_be_missing(shown: Any, tmp_path: Path, capsys: Any) -> None:
    complete = shown(rows(), [START])
    (tmp_path / "starts.csv").unlink()
    show_layers_found(Console(width=80), tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines if line.strip(" ─")] == complete[:-1]
    (tmp_path / "layers.csv").unlink()
    show_layers_found(Console(), tmp_path)
    assert capsys.readouterr().out == ""
