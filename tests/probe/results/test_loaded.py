"""A study's run directory as a result in Python: the same numbers as its own tables."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from probe import Analysis, load
from probe.errors import InputError
from probe.tables.schemas import SCHEMAS
from probe.tables.table_file import read_table, records
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
    for name, table in found.tables().items():
        path = study.root / f"{name}.csv"
        assert table.equals(read_table(path, name)) if path.exists() else table.empty
    assert set(found.tables()) == set(SCHEMAS)
    assert (found.learners, found.orders) == (("finetune", "joint"), ("there", "back"))
    assert (found.features, found.readouts) == (FEATURES, ("retrain", "linear"))
    for learner in found.learners:
        assert f"{learner}, readout linear, in %, mean over 2 seeds, forgotten on" in str(found)
    lines = [line for line in found.latex("linear").splitlines() if line.endswith(r"\\")]
    named = [line.split(" & ")[:2] for line in lines[1:]]
    assert named == [list(each) for each in product(found.learners, found.features)]
    assert found.latex("linear", learner="joint").startswith("% joint, readout linear")
    assert repr(found).startswith(
        "Analysis of finetune, joint: 2 orders, 2 seeds, after 0 to 2 of 2 tasks"
    )


def test_arrays_over_orders_then_seeds_are_the_summary(study: Tiny, found: Analysis) -> None:
    pytest.importorskip("xarray")
    data, summary = found.to_xarray(), read_table(study.root / "summary.csv", "summary")
    assert len(summary) == 4 * 3 * 3
    for row in records(summary):
        at = {"learner": row.learner, "feature": row.feature, "readout": "retrain"}
        cells = data[row.metric].sel(tasks_seen=LAST.get(row.learner, 2), **at)
        if row.task_position is not None:
            cells = cells.where(cells.task_position == row.task_position).mean("task")
        by_seed = cells.mean("order")
        assert by_seed.mean("seed").item() == pytest.approx(row.mean, abs=1e-12)
        assert by_seed.std("seed", ddof=1).item() == pytest.approx(row.std, abs=1e-12)


def test_matrices_have_the_accuracies_of_layers(study: Tiny, found: Analysis) -> None:
    steps = {"accuracy": 2, "floor": 0}
    for row in records(read_table(study.root / "layers.csv", "layers")):
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


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("layers.csv", b"er,x\n", r"layers\.csv: expected the columns learner,readout"),
        ("measurements.csv", b"\xff\xfe", r"measurements\.csv is not a table of this study"),
        ("learners.csv", b"learner,kind,per_class,total,sampling\ner,er,x,,\n", "line 2: 'x'"),
    ],
)
def test_a_damaged_table_is_told(
    study: Tiny, tmp_path: Path, name: str, damage: bytes, told: str
) -> None:
    (tmp_path / "measurements.csv").write_bytes((study.root / "measurements.csv").read_bytes())
    (tmp_path / name).write_bytes(damage)
    with pytest.raises(InputError, match=told):
        load(tmp_path)
