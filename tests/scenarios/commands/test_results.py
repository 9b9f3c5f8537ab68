"""The table of results that a run ends with: which numbers stand where."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from probe.tables.rows import LayerRow, MetricRow, NoteRow, Row, SummaryRow, TimeRow
from probe.tables.table_file import write_table
from scenarios.commands.screen.results import note_lines, show_omegas, show_outcome, show_results
from tests.figures import invented


def pra(learner: str, feature: str, mean: float, depth: int) -> SummaryRow:
    return SummaryRow(
        learner=learner,
        feature=feature,
        depth=depth,
        measure="pra",
        place=None,
        mean=mean,
        std=0.01,
        seeds=2,
    )


def after(k: int, metric: str, learner: str, head: str, mean: float) -> MetricRow:
    return MetricRow(
        learner=learner,
        paper="chaudhry",
        metric=f"{metric}[{k}]",
        head=head,
        mean=mean,
        std=0.02,
        seeds=2,
    )


def shown(
    metrics: list[MetricRow], features: tuple[str, ...] = ("conv1", "output")
) -> dict[str, list[str]]:
    """Return the cells of each learner's row, and the words of what is printed above."""
    summary = [
        pra(name, feature, mean, depth)
        for name, mean in (("er", 0.9), ("ft", 0.8))
        for depth, feature in enumerate(features, 1)
    ]
    out = io.StringIO()
    show_results(Console(file=out, width=200), summary, metrics)
    cells = [line.split() for line in out.getvalue().splitlines() if line.split()]
    rows = {line[0]: line[1:] for line in cells if line[0] in ("er", "ft")}
    return {**rows, "above": cells[0]}


F = {("er", "single"): 0.2, ("er", "multi"): 0.1, ("ft", "single"): 0.6, ("ft", "multi"): 0.3}
PRA = {"er": ["90.0±1.0", "90.0±1.0"], "ft": ["80.0±1.0", "80.0±1.0"]}


def measured(heads: tuple[str, ...]) -> list[MetricRow]:
    """Rows as in metrics.csv: learner by learner, head by head, task by task; A = 1 - F."""
    return [
        after(k, metric, learner, head, value if k == 3 else 0.99)
        for learner in ("er", "ft")
        for head in heads
        for metric, value in (
            ("average_accuracy", 1 - F[learner, head]),
            ("forgetting", F[learner, head]),
        )
        for k in (2, 3)
    ]


@pytest.mark.parametrize(
    ("heads", "er", "ft"),
    [
        (("single", "multi"), ["80.0±2.0", "20.0±2.0"], ["40.0±2.0", "60.0±2.0"]),
        (("multi", "single"), ["90.0±2.0", "10.0±2.0"], ["70.0±2.0", "30.0±2.0"]),
        (("multi",), ["90.0±2.0", "10.0±2.0"], ["70.0±2.0", "30.0±2.0"]),
    ],
)
def test_a_and_f_are_those_after_the_last_task_under_the_main_head(
    heads: tuple[str, ...], er: list[str], ft: list[str]
) -> None:
    table = shown(measured(heads))
    assert (table["er"], table["ft"]) == (PRA["er"] + er, PRA["ft"] + ft)
    assert f"({heads[0]}-head)," in table["above"]


def test_where_nothing_is_retrained_there_is_no_pra() -> None:
    table = shown(measured(("multi",)), features=("output",))
    assert table["er"] == ["90.0±2.0", "10.0±2.0"]
    assert "Retrain" not in table["above"]
    assert "Retrain" in shown(measured(("multi",)))["above"]


def test_learners_that_bring_a_network_have_a_table_of_its_features() -> None:
    """Those that retrain nothing stand with the first network."""
    own = {
        "er": ("conv1", "output"),
        "offline": ("output",),
        "fel": ("hidden", "fel", "output"),
        "ft": ("conv1", "output"),
    }
    rows = [
        replace(pra(name, feature, depth / 10, depth), std=math.nan)
        for name, features in own.items()
        for depth, feature in enumerate(features, 1)
    ]
    out = io.StringIO()
    show_results(Console(file=out, width=200), rows, [])
    lines = [line.split() for line in out.getvalue().splitlines() if line.split()]
    assert [line for line in lines[1:] if not line[0].startswith("─")] == [
        ["learner", "conv1", "output", "A", "F"],
        ["er", "10.0", "20.0", "-", "-"],
        ["offline", "-", "10.0", "-", "-"],
        ["ft", "10.0", "20.0", "-", "-"],
        ["learner", "hidden", "fel", "output", "A", "F"],
        ["fel", "10.0", "20.0", "30.0", "-", "-"],
    ]


def test_what_was_not_measured_is_a_dash() -> None:
    assert shown([after(2, "forgetting", "er", "single", 0.5)])["ft"] == [*PRA["ft"], "-", "-"]
    assert shown([])["er"] == [*PRA["er"], "-", "-"]


def kemker(learner: str, metric: str, head: str, mean: float) -> MetricRow:
    return replace(after(1, "", learner, head, mean), paper="kemker", metric=metric)


def test_kemkers_table_has_the_main_heads_omegas_and_what_they_cost() -> None:
    """A run of 2.5 + 4 seconds; EWC has no ideal and no size, another head is not shown."""
    rows = [
        *(kemker("fel", f"omega_{of}", "multi", 0.1 * k) for k, of in enumerate(OMEGAS, 1)),
        *(kemker("fel", f"omega_{of}", "single", 0.9) for of in OMEGAS),
        kemker("fel", "model_size_mb", "", 4.536),
        kemker("ewc", "omega_new", "multi", 0.987),
    ]
    times = [
        TimeRow(learner="fel", order="0", seed=0, step=k, seconds=s) for k, s in ((1, 2.5), (2, 4))
    ]
    console = Console(file=io.StringIO(), width=100)
    show_omegas(console, rows, times)
    lines = [line.split() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert ["fel", "0.100±0.020", "0.200±0.020", "0.300±0.020", "4.54", "6.5"] in lines
    assert ["ewc", "-", "0.987±0.020", "-", "-", "-"] in lines


def test_where_the_first_set_matters_kemkers_table_is_one_for_each() -> None:
    rows = [
        kemker("ewc", f"omega_new{first}", "multi", mean)
        for first, mean in (("", 0.5), ("[a first]", 0.4), ("[b first]", 0.6))
    ]
    console = Console(file=io.StringIO(), width=100)
    show_omegas(console, rows, [])
    text = console.file.getvalue()  # type: ignore[attr-defined]
    tables = re.split(r"\w first\n", text)[1:]
    assert re.findall(r"(\w) first\n", text) == ["a", "b"]
    assert [("0.400" in table, "0.600" in table) for table in tables] == [
        (True, False),
        (False, True),
    ]
    assert "0.500" not in text


OMEGAS = ("base", "new", "all")


def test_a_note_on_a_learner_names_no_feature_and_one_on_a_feature_does(tmp_path: Path) -> None:
    """Of two jobs that were measured, one has the first note and both the second."""
    measured = [
        Row(
            scenario="digits",
            network="cnn3",
            learner="er",
            order=order,
            seed=0,
            step=step,
            feature="conv1",
            depth=1,
            measure="pra",
            value=0.5,
            readout=readout,
        )
        for order in ("0", "1")
        for step in (1, 2)
        for readout in ("retrain", "linear")
    ]
    write_table(tmp_path / "rows.csv", Row, measured)
    about: dict[str, Any] = {"learner": "er", "seed": 0, "step": 2}
    notes = [
        NoteRow(**about, order="0", feature="", note="it predicts one class"),
        *(NoteRow(**about, order=k, feature="conv1", note="it is dead") for k in ("0", "1")),
    ]
    write_table(tmp_path / "notes.csv", NoteRow, notes)
    assert note_lines(tmp_path) == [
        "note: er, behind conv1 (2 of 2 jobs): it is dead",
        "note: er (1 of 2 jobs): it predicts one class",
    ]


def test_the_outcome_is_of_r_and_says_what_layers_lack_where_that_is_known(tmp_path: Path) -> None:
    """A feature's own matrix has metrics of the same names, with other values."""
    own = [
        replace(row, mean=0.111, feature="conv1", readout="linear") for row in measured(("single",))
    ]
    write_table(tmp_path / "metrics.csv", MetricRow, [*measured(("single",)), *own])
    summary = [pra("er", feature, 0.9, depth) for depth, feature in enumerate(("conv1", "out"), 1)]
    write_table(tmp_path / "summary.csv", SummaryRow, summary)
    layers = invented.layers(["er"], ["conv1", "output"])
    texts = []
    for table in ([], layers):
        if table:
            write_table(tmp_path / "layers.csv", LayerRow, table)
        console = Console(file=io.StringIO(), width=80)
        show_outcome(console, tmp_path, False, [])
        texts.append(console.file.getvalue())  # type: ignore[attr-defined]
    assert all("80.0±2.0" in text and "11.1" not in text for text in texts)
    assert ["What each layer lacks" in text for text in texts] == [False, True]
