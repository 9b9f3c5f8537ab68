"""The tables of results that a run ends with: which numbers stand where."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from probe.tables.rows import LayerRow, MetricRow, SummaryRow, TimeRow
from probe.tables.table_file import write_table
from scenarios.commands.screen.results import show_omegas, show_outcome, show_results
from tests.figures import invented


def pra(learner: str, feature: str, mean: float, depth: int) -> SummaryRow:
    at = {"learner": learner, "feature": feature, "depth": depth}
    return SummaryRow(**at, measure="pra", place=None, mean=mean, std=0.01, seeds=2)  # type: ignore[arg-type]


def after(k: int, metric: str, learner: str, head: str, mean: float) -> MetricRow:
    name = {"learner": learner, "paper": "chaudhry", "metric": f"{metric}[{k}]", "head": head}
    return MetricRow(**name, mean=mean, std=0.02, seeds=2)


def printed(show: Callable[..., None], *tables: object) -> list[str]:
    """Return the words of each line that is printed."""
    console = Console(file=io.StringIO(), width=100)
    show(console, *tables)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return [" ".join(line.split()) for line in lines if line.strip(" ─")]


def summary(*features: str) -> list[SummaryRow]:
    means = {"er": 0.9, "ft": 0.8}
    return [pra(name, f, means[name], d) for name in means for d, f in enumerate(features, 1)]


def measured(*heads: str) -> list[MetricRow]:
    """Rows as in metrics.csv: learner by learner, head by head, task by task; A = 1 - F."""
    forgotten = {"er single": 0.2, "er multi": 0.1, "ft single": 0.6, "ft multi": 0.3}
    rows = []
    for learner in ("er", "ft"):
        for head in heads:
            F = forgotten[f"{learner} {head}"]
            for metric, value in (("average_accuracy", 1 - F), ("forgetting", F)):
                rows += [after(k, metric, learner, head, value if k == 3 else 0.99) for k in (2, 3)]
    return rows


@pytest.mark.parametrize(
    ("heads", "er"),
    [(("single", "multi"), "80.0±2.0 20.0±2.0"), (("multi", "single"), "90.0±2.0 10.0±2.0")],
)
def test_a_and_f_are_those_after_the_last_task_under_the_main_head(
    heads: tuple[str, ...], er: str
) -> None:
    title, *lines = printed(show_results, summary("conv1", "output"), measured(*heads))
    assert title.startswith("Partial Retrain Accuracy, average")
    assert lines[-2] == f"er 90.0±1.0 90.0±1.0 {er}"
    assert f"({heads[0]}-head), in %: mean±std over 2 seeds" in " ".join([title, *lines])
    [title, *lines] = printed(show_results, summary("output"), measured(*heads))
    assert title.startswith("Average accuracy")
    assert lines[-2] == f"er {er}"


def test_learners_that_bring_a_network_have_a_table_of_its_features() -> None:
    """Learners without retraining stand with the first network; a dash was not measured."""
    shared, own = ("conv1", "output"), ("hidden", "fel", "output")
    features = {"er": shared, "offline": ("output",), "fel": own, "ft": shared}
    rows = [
        replace(pra(name, feature, depth / 10, depth), std=math.nan)
        for name, each in features.items()
        for depth, feature in enumerate(each, 1)
    ]
    assert printed(show_results, rows, [])[-6:] == [
        "learner conv1 output A F",
        "er 10.0 20.0 - -",
        "offline - 10.0 - -",
        "ft 10.0 20.0 - -",
        "learner hidden fel output A F",
        "fel 10.0 20.0 30.0 - -",
    ]


def kemker(learner: str, metric: str, head: str, mean: float) -> MetricRow:
    return replace(after(1, "", learner, head, mean), paper="kemker", metric=metric)


def test_kemkers_table_has_the_main_heads_omegas_and_their_cost() -> None:
    """A run of 2.5 + 4 seconds; EWC has no ideal and no size, another head is not shown."""
    omegas = ("base", "new", "all")
    rows = [
        *(kemker("fel", f"omega_{of}", "multi", 0.1 * k) for k, of in enumerate(omegas, 1)),
        *(kemker("fel", f"omega_{of}", "single", 0.9) for of in omegas),
        kemker("fel", "model_size_mb", "", 4.536),
        kemker("ewc", "omega_new", "multi", 0.987),
    ]
    times = [
        TimeRow(learner="fel", order="0", seed=0, step=k, seconds=s) for k, s in ((1, 2.5), (2, 4))
    ]
    assert printed(show_omegas, rows, times)[2:] == [
        "fel 0.100±0.020 0.200±0.020 0.300±0.020 4.54 6.5",
        "ewc - 0.987±0.020 - - -",
    ]
    # Where the first set matters there is a table for each.
    names = (("", 0.5), ("[a first]", 0.4), ("[b first]", 0.6))
    lines = printed(show_omegas, [kemker("ewc", f"omega_new{n}", "multi", x) for n, x in names], [])
    assert [lines[k] for k in (1, 3, 4, 6)] == [
        *("a first", "ewc - 0.400±0.020 - - -", "b first", "ewc - 0.600±0.020 - - -")
    ]


def test_the_outcome_is_of_r_and_names_missing_accuracy_where_it_is_known(tmp_path: Path) -> None:
    """A feature's own matrix has metrics of the same names, with other values."""
    metrics = measured("single")
    own = [replace(row, mean=0.111, feature="conv1", readout="linear") for row in metrics]
    write_table(tmp_path / "metrics.csv", MetricRow, [*metrics, *own])
    write_table(tmp_path / "summary.csv", SummaryRow, summary("conv1", "out"))
    before = "\n".join(printed(show_outcome, tmp_path, False))
    assert "80.0±2.0" in before
    assert "11.1" not in before
    assert str(tmp_path / "rows.csv") in before.replace("\n", "")
    write_table(tmp_path / "layers.csv", LayerRow, invented.layers(["er"], ["conv1", "output"]))
    assert "Missing in each layer" in "\n".join(printed(show_outcome, tmp_path, False))
