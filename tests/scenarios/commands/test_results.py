"""The results that a run ends with, from its tables: which numbers stand where."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from probe.tables.rows import (
    LayerRow,
    MetricRow,
    NoteRow,
    Row,
    StartRow,
    StatementRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.table_file import write_table
from scenarios.commands.screen.results import show_outcome

Printed = Callable[..., list[str]]
KINDS: dict[str, Any] = {
    "summary": SummaryRow,
    "metrics": MetricRow,
    "times": TimeRow,
    "layers": LayerRow,
    "statements": StatementRow,
    "starts": StartRow,
    "notes": NoteRow,
    "rows": Row,
}


@pytest.fixture
def printed(tmp_path: Path) -> Printed:
    """Return the lines that are printed of a run directory with these tables."""

    def call(width: int = 100, omegas: bool = False, **tables: Sequence[object]) -> list[str]:
        for name, rows in {"summary": [], "metrics": [], "times": [], **tables}.items():
            write_table(tmp_path / f"{name}.csv", KINDS[name], rows)
        console = Console(file=io.StringIO(), width=width)
        show_outcome(console, tmp_path, omegas)
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        *shown, last = (line for line in lines if line.strip(" ─"))
        assert last.endswith(f"{tmp_path}/*.csv")
        return shown

    return call


def words(lines: Sequence[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def pra(learner: str, feature: str, mean: float, depth: int) -> SummaryRow:
    at = {"learner": learner, "feature": feature, "depth": depth}
    return SummaryRow(**at, measure="pra", place=None, mean=mean, std=0.01, seeds=2)  # type: ignore[arg-type]


def metric(learner: str, name: str, head: str, mean: float, paper: str = "chaudhry") -> MetricRow:
    return MetricRow(
        learner=learner, paper=paper, metric=name, head=head, mean=mean, std=0.02, seeds=2
    )


def summary(*features: str) -> list[SummaryRow]:
    means = {"er": 0.9, "ft": 0.8}
    return [pra(name, f, means[name], d) for name in means for d, f in enumerate(features, 1)]


def measured(*heads: str) -> list[MetricRow]:
    """Rows as in metrics.csv: learner by learner, head by head, task by task; A = 1 - F.

    A feature's own matrix has metrics of the same names, with other values.
    """
    forgotten = {"er single": 0.2, "er multi": 0.1, "ft single": 0.6, "ft multi": 0.3}
    rows = []
    for at, F in forgotten.items():
        learner, head = at.split()
        for name, value in (("average_accuracy", 1 - F), ("forgetting", F)):
            if head in heads:
                rows += [metric(learner, f"{name}[{k}]", head, value * (k == 3)) for k in (2, 3)]
    rows.sort(key=lambda row: (row.learner, heads.index(row.head)))
    return [*rows, *(replace(row, mean=0.111, feature="a", readout="linear") for row in rows)]


@pytest.mark.parametrize(
    ("heads", "er"),
    [(("single", "multi"), "80.0±2.0 20.0±2.0"), (("multi", "single"), "90.0±2.0 10.0±2.0")],
)
def test_a_and_f_are_those_after_the_last_task_under_the_main_head(
    printed: Printed, heads: tuple[str, ...], er: str
) -> None:
    title, *lines = words(printed(summary=summary("conv1", "output"), metrics=measured(*heads)))
    assert title.startswith("Partial Retrain Accuracy, average")
    assert lines[-2] == f"er 90.0±1.0 90.0±1.0 {er}"
    assert f"({heads[0]}-head), in %: mean±std over 2 seeds" in " ".join([title, *lines])
    title, *lines = words(printed(summary=summary("output"), metrics=measured(*heads)))
    assert title.startswith("Average accuracy")
    assert lines[-2] == f"er {er}"
