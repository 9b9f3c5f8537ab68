"""Files of a run directory that are not as they were written, as `probe run` meets them."""

from __future__ import annotations

import itertools
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from probe.errors import InputError
from scenarios.commands.status import show_status
from tests.bad_input.refused import contents
from tests.scenarios.execution.helpers import run, tables
from tests.slow.helpers import JOB

pytestmark = pytest.mark.slow


def file_of(out: Path, name: str) -> Path:
    """Return a file of the job."""
    [path] = out.glob(f"jobs/{JOB}/*/{name}")
    return path


def test_a_description_with_names_that_lead_elsewhere(out: Path) -> None:
    """Nothing goes where it points."""
    whole = json.loads((out / "study.json").read_bytes())
    for of, name in itertools.product(("learners", "orders"), ("../../x", "/tmp/x", "a/b", "..")):
        own = {name: next(iter(whole["plan"][of].values()))}
        record = {**whole, "plan": {**whole["plan"], of: own}}
        (out / "study.json").write_text(json.dumps(record))
        before = contents(out.parent)
        with pytest.raises(InputError, match=r"study.json is corrupt"):
            show_status(out)
        assert contents(out.parent) == before


class Touches:
    """A pickle that creates a file where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def test_hostile_files_in_a_run_directory(tmp_path: Path, out: Path, finished: Path) -> None:
    """Pickles in the place of every file of a job that is not finished, and of its tables."""
    touched = tmp_path / "touched"
    file_of(out, "feature-hidden1.json").unlink()
    torch.save({"weight": Touches(touched)}, tmp_path / "hostile.pt")
    for path in (*out.rglob("*.json"), *out.glob("*.csv")):
        path.write_bytes(pickle.dumps({"weight": Touches(touched)}))
    for path in out.rglob("*.pt"):
        shutil.copy(tmp_path / "hostile.pt", path)
    assert run(out)
    assert not touched.exists()
    assert tables(out) == tables(finished)
    torch.load(tmp_path / "hostile.pt", weights_only=False)
    assert touched.exists()
