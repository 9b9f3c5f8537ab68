"""A study's run directory as a result in Python: the same numbers as its own tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe import Analysis, load
from probe.errors import InputError
from probe.tables.rows import LayerRow, MeasurementRow, SummaryRow
from probe.tables.table_file import read_table
from tests.scenarios.tiny_run import Tiny

LAST = {"offline": 2, "untrained": 0}
FEATURES = ("hidden1", "hidden2", "output")


@pytest.fixture(scope="module")
def found(study: Tiny) -> Analysis:
    result = load(study.root)
    assert isinstance(result, Analysis)
    return result


def test_it_has_the_tables_of_the_run_and_text_that_names_each_learner(
    study: Tiny, found: Analysis
) -> None:
    assert found.measurements() == read_table(study.root / "measurements.csv", MeasurementRow)
    assert set(found.tables()) == {path.stem for path in study.root.glob("*.csv")} | {"notes"}
    assert (found.learners, found.orders) == (("finetune", "joint"), ("there", "back"))
    assert (found.features, found.readouts) == (FEATURES, ("retrain", "linear"))
    assert repr(found).startswith(
        "Analysis of finetune, joint: 2 orders, 2 seeds, after 0 to 2 of 2 tasks"
    )


def test_arrays_over_orders_then_seeds_are_the_summary(study: Tiny, found: Analysis) -> None:
    pytest.importorskip("xarray")
    data, summary = found.to_xarray(), read_table(study.root / "summary.csv", SummaryRow)
    assert len(summary) == 4 * 3 * 3
    for row in summary:
        at = {"learner": row.learner, "feature": row.feature, "readout": "retrain"}
        cells = data[row.metric].sel(tasks_seen=LAST.get(row.learner, 2), **at)
        if row.task_position is not None:
            cells = cells.where(cells.task_position == row.task_position).mean("task")
        by_seed = cells.mean("order")
        assert by_seed.mean("seed").item() == pytest.approx(row.mean, abs=1e-12)
        assert by_seed.std("seed", ddof=1).item() == pytest.approx(row.std, abs=1e-12)


def test_matrices_have_the_accuracies_of_layers(study: Tiny, found: Analysis) -> None:
    steps = {"accuracy": 2, "floor": 0}
    for row in read_table(study.root / "layers.csv", LayerRow):
        if row.task_position and row.quantity in steps and row.feature != "output":
            matrix = found.matrix(row.feature, row.readout, row.learner)
            cell = matrix.cell(steps[row.quantity], row.task_position)
            assert cell == pytest.approx(row.value, abs=1e-12)
        if row.task_position and row.quantity == "ceiling":
            ceiling = found.ceiling(row.feature, row.readout)
            assert ceiling[row.task_position - 1] == pytest.approx(row.value, abs=1e-12)


def test_of_several_learners_one_must_be_named(found: Analysis) -> None:
    for call in (lambda: found.R, lambda: found.matrix("hidden1", "linear")):
        with pytest.raises(InputError, match=r"has the learners finetune, joint: say which one"):
            call()
    with pytest.raises(InputError, match="unknown learner of this analysis 'join'"):
        found.matrix("hidden1", "linear", learner="join")


def test_it_is_saved_without_evaluations_and_the_run_is_left_alone(
    study: Tiny, found: Analysis, tmp_path: Path
) -> None:
    found.save(tmp_path / "kept")
    assert str(load(tmp_path / "kept")) == str(found)
    with pytest.raises(InputError, match="holds something else"):
        found.save(study.root)


def test_a_damaged_table_is_told(study: Tiny, tmp_path: Path) -> None:
    (tmp_path / "measurements.csv").write_bytes((study.root / "measurements.csv").read_bytes())
    (tmp_path / "layers.csv").write_bytes(b"er,x\n")
    with pytest.raises(InputError, match=r"layers\.csv"):
        load(tmp_path)
