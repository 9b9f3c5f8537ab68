"""The tables of a stored run with doubts stay as they are: row by row, numbers to 1e-12.

Three tasks in two orders, three seeds. `finetune` has a frozen layer, and retrainings
that did not converge; `er` has two equal seeds; `fel` has a network of its own, lacks a
job and starts near chance; `aware` has task ids beside controls that have none, and
lacks measurements. There are two budgets, statistics estimated anew, few examples per
class, three heads, inherited change, and causes, some of which are withheld.

`python -m tests.probe.results.test_doubts` writes the tables of today into the archive.
"""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest

import probe
from probe.results.run_directory import read_plan
from probe.results.tables import write_tables
from tests.probe.results.test_explanation import check_cells

STORED = Path(__file__).with_name("doubts.tar.xz")


def computed(folder, patch):
    """Unpack the run, and compute its tables; those that it had are in `tables`."""
    shutil.unpack_archive(STORED, folder, filter="data")
    root = folder / "run"
    version = json.loads((root / "study.json").read_bytes())["version"]
    # A later version measures something else, and reads the same.
    patch.setattr("probe.by_layer.plan.RESULTS_VERSION", version)
    patch.setattr("probe.results.run_directory.RESULTS_VERSION", version)
    write_tables(read_plan(root), root)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield computed(tmp_path_factory.mktemp("doubts"), patch)


def test_a_run_with_doubts_has_the_tables_that_it_had(root):
    found = probe.load(root).tables()
    for name, table in probe.load(root.with_name("tables")).tables().items():
        # Text and whole numbers are then exact, too.
        pd.testing.assert_frame_equal(
            found[name],
            table,
            rtol=0,
            atol=1e-12,
            obj=f"{name}.csv",
        )


def test_a_task_aware_learner_is_compared_with_controls_under_its_head(root):
    """Among a task's classes it is easier: a single-head ceiling would be too low."""
    layers = probe.load(root).layers().set_index(["learner", "feature", "readout"])
    of_output = layers.loc["aware", "output", "linear"]
    by_quantity = of_output[of_output["task_position"].isna()].set_index("quantity")
    answers = probe.predictions(root).query("head == 'multi' and readout == ''")
    answers = answers.assign(is_right=answers["label"] == answers["predicted"])
    for quantity, control in (("ceiling", "offline"), ("floor", "untrained")):
        last = answers.query(f"learner == '{control}'")
        last = last.query("tasks_seen == tasks_seen.max()")
        accuracy = last.groupby("seed")["is_right"].mean().mean()
        assert by_quantity.loc[quantity, "value"] == pytest.approx(accuracy, abs=1e-12)


@pytest.mark.parametrize("quantity", ["missing", "above_floor"])
def test_a_task_aware_learner_is_explained_with_controls_under_its_head(root, quantity):
    check_cells(root, ("aware", "linear", "output"), quantity)


if __name__ == "__main__":
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        root = computed(Path(folder), patch)
        description = root / "study.json"
        plan = json.loads(description.read_bytes())
        description.write_text(json.dumps(plan | {"tables": "", "hashes": {}}))
        for path in root.glob("*.csv"):
            path.replace(root.with_name("tables") / path.name)
        shutil.make_archive(
            str(STORED.with_suffix("").with_suffix("")), "xztar", folder
        )
