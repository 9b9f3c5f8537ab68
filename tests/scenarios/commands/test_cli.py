"""`probe run` and the commands that show its directory; for mistakes see test_bad_input."""

import json
import sys
from pathlib import Path

import pytest

from probe.tables.run_directory import NOTES, TABLES, TIMES
from scenarios.commands.main import main
from tests.bad_input.making import TINY, study
from tests.bad_input.refused import contents


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


@pytest.mark.usefixtures("undrawn")
def test_training_that_diverges_is_said_with_its_epoch(probe, tmp_path):
    """For an output of NaN, after the last epoch, see `test_failures`."""
    rates = {"training.epochs": "3", "training.learning_rate": "1e30", "learners.offline": None}
    (tmp_path / "diverges.toml").write_text(study(rates))
    code, out, err = probe(f"run {tmp_path}/diverges.toml --workers 1 --out {tmp_path}/run")
    assert (code, err) == (1, "")
    reason = "task 0-1 (1 of 5): training diverged: the loss is not finite in epoch 2"
    assert f"learner finetune, order 0, seed 0: {reason}" in " ".join(out.split())


def test_ctrl_c_says_how_to_go_on(probe, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios.commands.run.run_study", stopped)
    assert probe("run digits") == (130, "", "stopped: run the same command again to go on\n")


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


def test_figures_are_drawn_again_from_the_tables_alone(probe, cwd, tmp_path, figures):
    for table in (cwd / "done").glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    code, out, _ = probe(f"figures {tmp_path}")
    assert code == 0
    paths = [line for line in out.splitlines() if not line.startswith("note: ")]
    assert paths == [str(tmp_path / "figures" / name) for name in figures]
    for name in figures:
        drawn = cwd / "done" / "figures" / name
        assert (tmp_path / "figures" / name).read_bytes() == drawn.read_bytes()
