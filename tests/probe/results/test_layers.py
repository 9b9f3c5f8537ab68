"""Which layers have which quantities; for their values see `tests/laws/test_layer_tables.py`."""

import pytest

from tests.scenarios.probed import rows
from tests.scenarios.tiny_run import Tiny, probed


def test_controls_have_no_layers_of_their_own_and_without_a_ceiling_nothing_starts(study, tmp_path):
    """The output alone has one, whatever is measured: it would be the first of one."""
    for table in ("layers", "statements"):
        assert {row["learner"] for row in rows(study, table)} == {"finetune", "joint"}
    tiny = Tiny(tmp_path / "tiny")
    tiny.run(probed('readouts = { retrain = "last", linear = "all" }'), seeds=3)
    assert rows(tiny, "layers", readout="retrain", feature="output", quantity="missing")
    assert not rows(tiny, "layers", readout="retrain", feature="hidden1", quantity="missing")
    assert {row["readout"] for row in rows(tiny, "starts")} == {"linear"}


@pytest.mark.parametrize(
    ("readout", "measured"), [('linear = "ends"', {"1"}), ("linear = [0, 2, 3]", {"1", "2"})]
)
def test_what_needs_rows_that_were_left_out_is_missing(tmp_path, readout, measured):
    """Of three tasks: what was forgotten of one needs the row after it and the last."""
    tiny = Tiny(tmp_path / "tiny")
    study = probed(f"readouts.{readout}").replace("there = [1, 2]", "there = [1, 2, 3]")
    tiny.run(study.replace("classes_per_task = 5", "tasks = [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]"))
    here = {"learner": "finetune", "readout": "linear", "feature": "hidden1"}
    assert rows(tiny, "layers", **here, quantity="missing", place="")
    forgotten = {row["place"] for row in rows(tiny, "layers", **here, quantity="forgotten")}
    assert forgotten == measured - {"1"} if "[" in readout else not forgotten
    assert not rows(tiny, "metrics", learner="finetune", feature="hidden1", metric="bwt")


def test_a_learner_with_its_own_network_has_its_own_floor_and_no_ceiling(tmp_path):
    tiny = Tiny(tmp_path / "tiny")
    study = probed('readouts.linear = "ends"').replace("[learners.finetune]", "[learners.fel]")
    tiny.run(study.replace('features = ["hidden1"]', ""), seeds=2)
    own = {"learner": "fel", "feature": "hidden", "readout": "linear"}
    first = [float(row["value"]) for row in rows(tiny, "rows", **own, measure="pra", step=0)]
    [floor] = rows(tiny, "layers", **own, quantity="floor", place="")
    assert float(floor["value"]) == pytest.approx(sum(first) / 2, abs=1e-12)
    assert not rows(tiny, "layers", learner="fel", quantity="ceiling")
