"""A study's run directory as a result in Python: the same numbers as its own tables."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from probe import Analysis, load
from probe.errors import InputError
from probe.tables.rows import Row
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
    assert found.rows() == read_table(study.root / "rows.csv", Row)
    assert set(found.tables()) == {path.stem for path in study.root.glob("*.csv")} | {"notes"}
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


def test_it_is_saved_without_evaluations_and_the_run_is_left_alone(
    study: Tiny, found: Analysis, tmp_path: Path
) -> None:
    found.save(tmp_path / "kept")
    assert str(load(tmp_path / "kept")) == str(found)
    with pytest.raises(InputError, match="holds something else"):
        found.save(study.root)
