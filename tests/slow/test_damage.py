"""Files of a run directory that are not as they were written, as `probe run` meets them."""

import itertools
import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.results.tables import write_tables
from scenarios.commands.status import show_status
from tests.bad_input.refused import contents
from tests.scenarios.execution.helpers import run, tables
from tests.slow.helpers import JOB

pytestmark = pytest.mark.slow


def file_of(out, name):
    """Return a file of the job."""
    [path] = out.glob(f"jobs/{JOB}/*/{name}")
    return path


def test_a_description_with_names_that_lead_elsewhere(out):
    """Nothing goes where it points."""
    path = out / "study.json"
    record = json.loads(path.read_bytes())
    plan = record["plan"]
    names = ("../../x", "/tmp/x", "a/b", "..")
    for named, name in itertools.product(("learners", "orders"), names):
        changed = {**plan, named: {name: next(iter(plan[named].values()))}}
        path.write_text(json.dumps({**record, "plan": changed}))
        before = contents(out.parent)
        with pytest.raises(InputError, match=r"study.json is corrupt"):
            show_status(out)
        assert contents(out.parent) == before


def test_results_of_other_tasks_are_named(out, finished):
    """Their checksums are right: somebody has made them."""
    path = file_of(out, "predictions.npz")
    with np.load(path) as file:
        arrays = dict(file)
    np.savez_compressed(path, **arrays | {"label": arrays["label"] + 1})
    with pytest.raises(InputError, match=f"{JOB}/[0-9a-f]{{16}} holds invalid"):
        run(out)
    shutil.rmtree(out / "jobs" / JOB)
    assert run(out)
    assert tables(out) == tables(finished)


@pytest.mark.parametrize("times", [1, 9])
def test_damage_after_the_check_is_no_hole_in_the_tables(
    out, finished, monkeypatch, times
):
    """A file goes bad between its last reading and the tables: computed again, or said if twice."""
    left = list(range(times))

    def spoil_and_write(*arguments):
        if left:
            left.pop()
            os.truncate(file_of(out, "predictions.npz"), 500)
        return write_tables(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("probe.results.tables.write_tables", spoil_and_write)
        assert run(out) == (times == 1)
    assert (tables(out) == tables(finished)) == (times == 1)


class Touches:
    """A pickle that creates a file where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_hostile_files_in_a_run_directory(tmp_path, out, finished):
    """Pickles in the place of every file of the jobs, and of the tables."""
    touched = tmp_path / "touched"
    torch.save({"weight": Touches(touched)}, tmp_path / "hostile.pt")
    for path in (*out.rglob("*.json"), *out.rglob("*.npz"), *out.glob("*.csv")):
        path.write_bytes(pickle.dumps({"weight": Touches(touched)}))
    for path in out.rglob("*.pt"):
        shutil.copy(tmp_path / "hostile.pt", path)
    assert run(out)
    assert not touched.exists()
    assert tables(out) == tables(finished)
    torch.load(tmp_path / "hostile.pt", weights_only=False)
    assert touched.exists()
