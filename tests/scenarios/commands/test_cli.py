"""`probe run` and the commands that show its directory; for mistakes see test_bad_input."""

import json
import sys
from pathlib import Path

import pytest

from scenarios.commands.main import main
from tests.bad_input.making import TINY
from tests.bad_input.refused import contents
from tests.scenarios.table_names import NOTES, TABLES, TIMES


@pytest.fixture(scope="module")
def cwd(tmp_path_factory):
    """A folder with a finished study in `done`; every test leaves it as it is."""
    folder = tmp_path_factory.mktemp("cwd")
    (folder / "tiny.toml").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["probe", "run", "tiny.toml", "--workers", "1", "--out", "done"])
        with pytest.raises(SystemExit, match="0"):
            main()
    return folder


@pytest.fixture
def figures(cwd):
    """The files of the figures in `done`, in the order in which they are drawn."""
    kept = json.loads((cwd / "done" / "figures" / "drawn.json").read_bytes())
    drawn = [file for file in kept["files"] if not file.endswith(".txt")]
    assert {Path(file).stem for file in drawn} >= {"depth", "matrix"}
    return drawn


def test_a_finished_study_is_shown_again_and_not_changed(probe, cwd, figures):
    before = contents(cwd)
    code, out, err = probe("run tiny.toml --workers 1 --out done")
    assert (code, err) == (0, "")
    last = "the answer: done/report.html; figures: done/figures; tables: done/*.csv"
    assert out.splitlines()[-1] == last
    files = ["report.html", "layers.csv", "retraining.csv", *TABLES, TIMES, NOTES]
    files += [f"figures/{name}" for name in figures]
    assert all((cwd / "done" / name).stat().st_size for name in files)
    assert {"hidden1", "hidden2", "output", "finetune", "offline"} <= set(out.split())
    assert contents(cwd) == before
