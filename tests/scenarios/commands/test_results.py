"""The results that a run ends with, from its tables: which numbers stand where."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from probe.tables.layer_text import layer_sheets
from probe.tables.rows import (
    FirstLayerRow,
    LayerRow,
    MeasurementRow,
    MetricRow,
    NoteRow,
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
    "first_layer": FirstLayerRow,
    "notes": NoteRow,
    "measurements": MeasurementRow,
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
    return SummaryRow(**at, metric="pra", task_position=None, mean=mean, std=0.01, seeds=2)  # type: ignore[arg-type]


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


def test_learners_that_bring_a_network_have_a_table_of_its_features(printed: Printed) -> None:
    """Learners without retraining stand with the first network; a dash was not measured."""
    shared, own = ("conv1", "output"), ("hidden", "fel", "output")
    features = {"er": shared, "offline": ("output",), "fel": own, "ft": shared}
    rows = [
        replace(pra(name, feature, depth / 10, depth), std=math.nan)
        for name, each in features.items()
        for depth, feature in enumerate(each, 1)
    ]
    assert words(printed(summary=rows)[-6:]) == [
        "learner conv1 output A F",
        "er 10.0 20.0 - -",
        "offline - 10.0 - -",
        "ft 10.0 20.0 - -",
        "learner hidden fel output A F",
        "fel 10.0 20.0 30.0 - -",
    ]


def test_kemkers_table_has_the_main_heads_omegas_and_their_cost(printed: Printed) -> None:
    """A run of 2.5 + 4 seconds; EWC has no ideal and no size, another head is not shown."""

    def kemker(learner: str, name: str, head: str, mean: float) -> MetricRow:
        return metric(learner, name, head, mean, "kemker")

    omegas = ("omega_base", "omega_new", "omega_all")
    rows = [
        *(kemker("fel", name, "multi", 0.1 * k) for k, name in enumerate(omegas, 1)),
        *(kemker("fel", name, "single", 0.9) for name in omegas),
        kemker("fel", "model_size_mb", "", 4.536),
        kemker("ewc", "omega_new", "multi", 0.987),
    ]
    spent = {"learner": "fel", "order": "0", "seed": 0}
    times = [TimeRow(**spent, tasks_seen=k, seconds=s) for k, s in ((1, 2.5), (2, 4))]  # type: ignore[arg-type]
    assert words(printed(omegas=True, metrics=rows, times=times)[-2:]) == [
        "fel 0.100±0.020 0.200±0.020 0.300±0.020 4.54 6.5",
        "ewc - 0.987±0.020 - - -",
    ]
    # Where the first set matters there is a table for each.
    names = (("", 0.5), ("[a first]", 0.4), ("[b first]", 0.6))
    rows = [kemker("ewc", f"omega_new{n}", "multi", x) for n, x in names]
    *_, a, _, of_a, b, _, of_b = words(printed(omegas=True, metrics=rows))
    assert (a, of_a) == ("a first", "ewc - 0.400±0.020 - - -")
    assert (b, of_b) == ("b first", "ewc - 0.600±0.020 - - -")


UNKNOWN = (math.nan, math.nan, math.nan)
VALUES = {
    ("conv1", "accuracy"): (0.9612, 0.9501, 0.9702),
    ("conv1", "floor"): (0.969, 0.96, 0.98),
    ("conv1", "ceiling"): (0.964, 0.95, 0.97),
    ("conv1", "missing"): (0.0028, -0.01, 0.02),
    ("conv1", "retained"): UNKNOWN,
    ("conv2", "retained"): (0.941, 0.9, 0.981),
    ("conv3", "accuracy"): (0.584, 0.5049, 0.6631),
    ("conv3", "ceiling"): (0.963, 0.95, 0.97),
    ("conv3", "missing"): (0.379, 0.301, 0.457),
    ("conv3", "above_floor"): (-0.26, -0.35, -0.17),
    ("conv3", "retained"): (-2.239, -2.941, -1.539),
}
STATED = StatementRow(
    learner="ft", readout="retrain", feature="conv3", depth=3, statement="below_ceiling", seeds=3,
    verdict="yes", margin=0.01, value=0.379, low=0.301, high=0.457,
)  # fmt: skip
START = FirstLayerRow(
    learner="ft", readout="retrain", statement="below_ceiling",
    first_possible="conv2", first_confirmed="conv3",
    seeds=3, seeds_needed=None,
)  # fmt: skip


def layers(learner: str = "ft", readout: str = "retrain", seeds: int = 3) -> list[LayerRow]:
    at: dict[str, Any] = {
        "learner": learner,
        "readout": readout,
        "task_position": None,
        "seeds": seeds,
    }
    rows = []
    for (feature, quantity), (value, *interval) in VALUES.items():
        low, high = interval if seeds > 1 else (math.nan, math.nan)
        of = {"feature": feature, "quantity": quantity, "depth": int(feature[-1])}
        rows.append(LayerRow(**at, **of, value=value, low=low, high=high))
    return rows


def test_a_line_for_each_layer_in_percent_with_intervals(printed: Printed) -> None:
    """Rows of single tasks and of the controls have no part in it; a dash was not measured."""
    of_one_task = [replace(row, value=0.5, task_position=1) for row in layers()]
    others = [*of_one_task, *layers("offline"), *layers("untrained")]
    lines = printed(layers=[*layers()[::-1], *others], statements=[STATED], first_layer=[START])
    assert words(lines[1:]) == [
        "Accuracy missing in each layer, everything downstream retrained (readout retrain)",
        "ft, readout retrain, in %, mean over 3 seeds, retained [95 % interval]",
        "feature accuracy floor ceiling missing never learned forgotten retained",
        "conv1 96.1 96.9 96.4 0.3 - - too little room",
        "conv2 - - - - - - 94 [90, 98]",
        "conv3 58.4 - 96.3 37.9 - - below untrained",
        "ft falls below the ceiling, first between conv2 and conv3: 37.9 points [30.1, 45.7] at "
        "conv3",
    ]


def test_a_table_for_each_learner_and_known_readout_with_its_sentence(printed: Printed) -> None:
    readouts = ("linear", "knn", "retrain@2", "retrain")
    rows = [row for r in readouts for learner in ("er", "ft") for row in layers(learner, r)]
    statements = [STATED, replace(STATED, learner="er", readout="linear", feature="conv1")]
    said = printed(layers=rows, statements=statements)[1:]
    assert [line.split(" [")[0].split(", in %")[0] for line in said if line[0] != " "] == [
        "Accuracy missing in each layer, everything downstream retrained (readout retrain)",
        "er, readout retrain",
        "ft, readout retrain",
        "ft falls below the ceiling: 37.9 points",
        "Accuracy missing in each layer, a linear classifier downstream (readout linear)",
        "er, readout linear",
        "er falls below the ceiling: 37.9 points",
        "ft, readout linear",
        "er, retrained for multiples of the epochs",
        "ft, retrained for multiples of the epochs",
    ]


def test_given_networks_have_retrainings_for_seeds() -> None:
    sheets = layer_sheets({"layers": [*layers(), *layers(readout="linear")]}, given=True)
    assert [sheet.heading for sheet in sheets] == [
        "readout retrain, in %, mean over 3 retrainings, retained [95 % interval]",
        "readout linear, in %, retained [95 % interval]",
    ]


@pytest.mark.parametrize("seeds", [1, 3])
def test_long_names_are_folded_and_no_line_is_cut_or_longer_than_80(
    printed: Printed, seeds: int
) -> None:
    name = "features.denseblock1.denselayer2.conv"
    rows = [replace(row, feature=name + row.feature[-1]) for row in layers(seeds=seeds)]
    lines = printed(width=80, layers=rows)
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert name in "".join(line.split()[0] for line in lines[5:])
    assert ("[90, 98]" in " ".join(lines)) == (seeds == 3)
