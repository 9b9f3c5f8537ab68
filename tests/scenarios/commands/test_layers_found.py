"""What is printed of layers: which numbers stand where, and where forgetting is said to start."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from probe.errors import InputError
from probe.tables.layer_text import start_sentence
from probe.tables.rows import LayerRow, StartRow
from probe.tables.table_file import write_table
from scenarios.commands.screen.layers_found import (
    show_layers_found,
    show_layers_lacking,
)

VALUES = {
    "conv1": {
        "accuracy": (0.9612, 0.9501, 0.9702),
        "floor": (0.969, 0.96, 0.98),
        "ceiling": (0.964, 0.95, 0.97),
        "missing": (0.0028, -0.01, 0.02),
        "retained": (math.nan, math.nan, math.nan),
    },
    "conv3": {
        "accuracy": (0.584, 0.5049, 0.6631),
        "floor": (0.846, 0.8, 0.89),
        "ceiling": (0.963, 0.95, 0.97),
        "missing": (0.379, 0.301, 0.457),
        "retained": (-2.239, -2.941, -1.539),
    },
}
START = StartRow(
    learner="finetune",
    readout="retrain",
    feature="conv3",
    earliest="conv2",
    margin=0.01,
    value=0.379,
    low=0.301,
    high=0.457,
    seeds=3,
)


def rows(
    learner: str = "finetune", readout: str = "retrain", place: int | None = None, seeds: int = 3
) -> list[LayerRow]:
    return [
        LayerRow(
            learner=learner,
            readout=readout,
            feature=feature,
            depth=depth,
            place=place,
            quantity=quantity,
            value=value,
            low=math.nan if seeds == 1 else low,
            high=math.nan if seeds == 1 else high,
            seeds=seeds,
        )
        for depth, (feature, own) in enumerate(VALUES.items(), 1)
        for quantity, (value, low, high) in own.items()
    ]


def shown(layers: list[LayerRow], starts: list[StartRow], width: int = 80) -> list[str]:
    out = io.StringIO()
    show_layers_lacking(Console(file=out, width=width), layers, starts)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def test_a_line_for_each_layer_in_percent_with_intervals() -> None:
    """Rows of single tasks and of the levels themselves have no part in it."""
    of_one_task = [replace(row, value=0.5) for row in rows(place=1)]
    others = [*of_one_task, *rows("offline"), *rows("untrained")]
    lines = shown([*reversed(rows()), *others], [START])
    assert lines[0].endswith("retrained (readout retrain),")
    assert lines[1] == "in %: mean over 3 seeds [95 % interval]"
    assert lines[2].split() == ["accuracy", "floor", "ceiling", "missing", "retained"]
    assert [" ".join(line.split()) for line in lines[4:]] == [
        "finetune",
        "conv1 96.1 [95.0, 97.0] 96.9 96.4 0.3 not identifiable",
        "conv3 58.4 [50.5, 66.3] 84.6 96.3 37.9 -224 [-294, -154]",
        "finetune: forgetting starts at conv3 (37.9 points below the ceiling, 95 % interval 30.1 "
        "to 45.7; at conv2 at the earliest)",
    ]


def test_there_is_a_table_for_each_known_readout_and_in_it_a_section_for_each_learner() -> None:
    layers = [
        row
        for readout in ("linear", "knn", "retrain@2", "retrain")
        for learner in ("er", "finetune")
        for row in rows(learner, readout)
    ]
    lines = shown(layers, [START, replace(START, learner="er", readout="linear", feature="conv1")])
    titles = [line for line in lines if line.endswith(",")]
    assert ["readout retrain)" in titles[0], "readout linear)" in titles[1]] == [True, True]
    assert len(titles) == 2
    assert [line for line in lines if line in (" er", " finetune")] == [" er", " finetune"] * 2
    # Each sentence stands below the table of its own readout.
    said = [line.partition(":")[0] for line in lines if "forgetting starts" in line]
    assert said == ["finetune", "er"]


def test_one_seed_has_no_intervals() -> None:
    one = replace(START, seeds=1, feature="", value=math.nan, low=math.nan, high=math.nan)
    lines = shown(rows(seeds=1), [one])
    assert lines[1] == "in %: one seed"
    assert not any("[" in line for line in lines)
    assert lines[-1] == "finetune: one seed: no interval"


def test_what_was_not_measured_is_a_dash_which_is_not_what_cannot_be_identified() -> None:
    layers = [row for row in rows() if row.quantity in ("accuracy", "ceiling")]
    line = next(line for line in shown(layers, []) if "conv1" in line)
    assert line.split()[-4:] == ["-", "96.4", "-", "-"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"earliest": "conv3"}, "finetune: forgetting starts at conv3 (37.9 points below the "
        "ceiling, 95 % interval 30.1 to 45.7)"),
        ({"feature": "", "earliest": ""}, "finetune: no layer lacks more than 1 point"),
        ({"feature": "", "earliest": "", "margin": 0.025}, "no layer lacks more than 2.5 points"),
        ({"feature": ""}, "more than 1 point for certain; the first that may is conv2"),
    ],
)  # fmt: skip
def test_where_forgetting_starts_in_a_sentence(changes: dict[str, str | float], said: str) -> None:
    assert start_sentence(replace(START, **changes)).endswith(said)  # type: ignore[arg-type]


@pytest.mark.parametrize("seeds", [1, 3])
def test_long_names_are_folded_and_no_line_of_a_table_is_cut_or_longer_than_80(seeds: int) -> None:
    name = "my_own_learner_with_many_samples_and_a_long_name"
    layers = [
        replace(row, feature=f"features.denseblock{row.depth}.denselayer2.conv{row.depth}")
        for row in rows(name, seeds=seeds)
    ]
    lines = shown(layers, [])
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    text = "".join(line.split()[0] for line in lines[4:] if line.split())
    assert name in text
    assert "not identifiable" in " ".join(lines)
    assert ("95.0, 97.0]" in " ".join(lines)) == (seeds == 3)


def test_a_name_moves_no_cursor() -> None:
    evil = "\x1b[2J\u202e[/red][bold]\x07"
    tamed = r"\x1b[2J\u202e[/red][bold]\x07"
    layers = [replace(row, feature=evil) for row in rows(evil)]
    text = "\n".join(shown(layers, [replace(START, learner=evil, feature=evil)], width=200))
    assert text.count(tamed) == 4
    assert not set("\x1b\u202e\x07") & set(text)


def directory(tmp_path: Path, layers: list[LayerRow], starts: list[StartRow]) -> list[str]:
    write_table(tmp_path / "layers.csv", LayerRow, layers)
    if starts:
        write_table(tmp_path / "starts.csv", StartRow, starts)
    out = io.StringIO()
    show_layers_found(Console(file=out, width=80), tmp_path)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def test_it_is_read_from_the_tables(tmp_path: Path) -> None:
    assert directory(tmp_path, [*rows(), *rows(place=1)], [START]) == shown(rows(), [START])


def test_starts_may_be_missing(tmp_path: Path) -> None:
    assert directory(tmp_path, rows(), []) == shown(rows(), [])


def test_nothing_is_printed_where_there_is_no_table(tmp_path: Path) -> None:
    out = io.StringIO()
    show_layers_found(Console(file=out), tmp_path)
    assert out.getvalue() == ""


def test_a_table_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "layers.csv").write_text("learner\n")
    with pytest.raises(InputError, match=r"layers\.csv: expected the columns"):
        show_layers_found(Console(file=io.StringIO()), tmp_path)
