"""layers.csv where rows or controls are missing; tests/laws/test_layer_tables.py has the rest."""

from tests.scenarios.probed import rows
from tests.scenarios.tiny_run import Tiny, probed

ALONE = "diagnostics = false\nhybrids = 0\n"
LEFT_OUT = {4, 9}  # of twelve rows


def test_controls_have_no_layers_of_their_own_and_without_a_ceiling_nothing_starts(
    study, tmp_path
):
    """The output alone has one, whatever is measured: it would be the first of one."""
    for table in ("layers", "statements"):
        assert {row["learner"] for row in rows(study, table)} == {"finetune", "joint"}
    assert rows(study, "layers", quantity="never_learned")
    assert not rows(study, "layers", quantity="never_learned_slope")  # of two tasks
    readouts = 'readouts = { retrain = "last", linear = "all" }'
    given = probed(ALONE + readouts)
    tiny = Tiny(tmp_path / "tiny").ran(given, seeds=3)
    assert rows(
        tiny,
        "layers",
        readout="retrain",
        feature="output",
        quantity="missing",
    )
    assert not rows(
        tiny,
        "layers",
        readout="retrain",
        feature="hidden1",
        quantity="missing",
    )
    found = {
        row["readout"] for row in rows(tiny, "first_layer", statement="below_ceiling")
    }
    assert found == {"linear"}
    # Of two seeds and of three.
    for run, scope in ((study, "network"), (tiny, "training")):
        assert {row["scope"] for row in rows(run, "statements")} == {scope}


def test_what_needs_rows_that_were_left_out_is_missing_and_said(tmp_path):
    """Of twelve tasks ten rows are measured by default: not those after 4 and 9 tasks."""
    tiny = Tiny(tmp_path / "tiny")
    given = probed(f"{ALONE}readouts.linear = {{}}").replace(
        "orders = { there = [1, 2] }", 'orders = "none"'
    )
    twelve = given.replace(
        "classes_per_task = 5", 'kind = "permutation"\nsessions = 12'
    )
    said = tiny.run(
        twelve.replace("[learners.offline]", "[learners.er]\n[learners.offline]")
    )
    own = {
        "learner": "finetune",
        "readout": "linear",
        "feature": "hidden1",
    }
    for quantity, last in (("forgotten", 11), ("never_learned", 12)):
        found = rows(tiny, "layers", **own, quantity=quantity)
        places = {int(row["task_position"]) for row in found}
        assert places == set(range(1, last + 1)) - LEFT_OUT
    assert rows(
        tiny,
        "layers",
        **own,
        quantity="missing",
        task_position="",
    )
    assert not rows(tiny, "metrics", **own, metric="bwt")
    note = (
        "measured after 10 of 12 tasks: forgotten and never learned are known of these"
    )
    assert any(note in row["note"] for row in rows(tiny, "notes", learner="er"))
    assert "".join(note.split()) in "".join(said.split())
