"""`probe model` on checkpoints: what is measured again, and what needs no code of the user's."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import probe
from probe.errors import InputError
from probe.record.checkpoints import Run
from scenarios.checkpoint_loader import _recipe
from scenarios.commands.figures import draw_requested
from scenarios.commands.model import _checkpoints, _diff_command
from scenarios.commands.status import show_status
from scenarios.options import FigureOptions, ModelOptions
from scenarios.user_code import USER_NETWORKS
from tests.scenarios.own_run import Own, folders, tables


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """A folder with a study by one process, and its checkpoints; no test may change it."""
    own = Own(tmp_path_factory.mktemp("studied")).written()
    own.keep(own.run())
    return own


@pytest.fixture(scope="module")
def modeled(studied):
    """The run directory of `probe model` by two workers; no test may change it."""
    return studied.model(workers=2)


@pytest.fixture
def own(tmp_path, studied):
    """A copy of the user's files alone, to be changed."""
    own = Own(tmp_path / "own").written()
    shutil.copytree(studied.checkpoints, own.checkpoints)
    return own


@pytest.fixture
def begun(own, modeled):
    """A copy of the finished run directory beside these files."""
    return Path(shutil.copytree(modeled, own.folder / "model"))


def test_the_tables_are_those_of_the_study(studied, modeled):
    assert tables(modeled) == tables(studied.folder / "study")


def test_files_that_name_no_learner_are_of_the_one_that_is_typed(own):
    pattern = str(own.checkpoints / "finetune-order{order}-seed{seed}-task{task}.pt")
    options = ModelOptions(checkpoints=pattern, learner="mine")
    found = _checkpoints(None, own.folder, options)
    assert {run.learner for run in found.runs} == {"mine"}


def test_only_what_other_checkpoints_are_of_is_done_again(own, begun, modeled):
    one, other = (
        own.checkpoints / f"finetune-order0-seed{seed}-task2.pt" for seed in (0, 1)
    )
    aside = one.rename(own.folder / "aside.pt")
    other.rename(one)
    aside.rename(other)
    own.model()
    twice = {job for job, each in folders(begun).items() if len(each) == 2}
    assert twice == {"finetune.order-0.seed-0", "finetune.order-0.seed-1"}
    assert tables(begun)["measurements.csv"] != tables(modeled)["measurements.csv"]


def test_readouts_are_measured_after_the_tasks_of_the_flag(own, begun):
    """Of a finished run, which has all of them."""
    own.model(steps="retrain=last, linear=all")
    rows = pd.read_csv(begun / "measurements.csv")
    rows = rows[(rows["metric"] == "pra") & (rows["learner"] == "finetune")]
    seen = rows.groupby("readout")["tasks_seen"].unique().map(set)
    assert seen.to_dict() == {"retrain": {2}, "linear": {1, 2}}
    with pytest.raises(InputError, match="retrain"):
        own.model(steps="retrain=often")


def test_a_limit_of_the_training_examples_leaves_the_test_examples(own, modeled):
    limited = own.model(readouts="ncm", train_limit=2)
    few, whole = (
        probe.predictions(root)["example"].nunique() for root in (limited, modeled)
    )
    assert few == whole > 20


def test_status_and_figures_need_none_of_the_users_code(
    studied, modeled, tmp_path, capsys
):
    for root in (studied.folder / "study", modeled):
        # Beside it there is no file of code, and nothing is registered.
        copy = Path(shutil.copytree(root, tmp_path / root.name / "run"))
        show_status(copy, as_json=True)
        told = json.loads(capsys.readouterr().out)["learners"]
        finished = {own["learner"]: own["finished"] for own in told}
        assert finished == {"finetune": 4, "offline": 2, "untrained": 2}
        assert all(
            own["measurements"] == own["measurements_finished"] > 0 for own in told
        )
    asked = FigureOptions(
        only="depth", format="svg", learners="finetune", out=tmp_path / "drawn"
    )
    draw_requested(copy, asked)
    assert [path.suffix for path in (tmp_path / "drawn").glob("depth*.svg")]
    assert not USER_NETWORKS


def test_flags_of_the_recipe_are_its_settings():
    settings = {"epochs": 3, "batch_size": 7, "learning_rate": 0.5, "optimizer": "sgd"}
    recipe = _recipe(SimpleNamespace(**settings), None)
    assert {name: getattr(recipe, name) for name in settings} == settings


def test_the_suggested_comparison_calls_networks_as_they_were_called():
    calls = {"call": "net:call", "output": "logits"}
    entry = SimpleNamespace(call=None)
    code = SimpleNamespace(network="net:build", network_entry=lambda: entry, **calls)
    runs = {Run("er", "0", 0): {1: Path("a.pt"), 2: Path("b.pt")}}
    command = _diff_command(
        code, SimpleNamespace(runs=runs), SimpleNamespace(weights="ema")
    )
    for flag, value in (calls | {"weights": "ema", "model": "net:build"}).items():
        assert f"--{flag} {value}" in command
