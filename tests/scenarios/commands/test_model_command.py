"""`probe model` on checkpoints gives what the study gave that has trained them."""

from __future__ import annotations

import importlib
import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

import probe
from scenarios.commands.figures import draw_requested
from scenarios.commands.status import show_status
from scenarios.options import FigureOptions
from scenarios.user_code import REGISTRY, importing
from tests.scenarios.own_run import (
    ORDERS,
    SAME,
    TASKS,
    Own,
    apart,
    folders,
    metrics,
    results,
    tables,
)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Own:
    """A folder with a study by one process, and its checkpoints; no test may change it."""
    own = Own(tmp_path_factory.mktemp("studied")).written()
    own.keep(own.run())
    return own


@pytest.fixture(scope="module")
def modeled(studied: Own) -> Path:
    """The run directory of `probe model` by two workers; no test may change it."""
    return studied.model(workers=2)


@pytest.fixture
def own(tmp_path: Path, studied: Own) -> Own:
    """A copy of the user's files alone, to be changed."""
    own = Own(tmp_path / "own").written()
    shutil.copytree(studied.checkpoints, own.checkpoints)
    return own


@pytest.fixture
def begun(own: Own, modeled: Path) -> Path:
    """A copy of the finished run directory beside these files."""
    return Path(shutil.copytree(modeled, own.folder / "model"))


def test_the_tables_are_those_of_the_study(studied: Own, modeled: Path) -> None:
    found = tables(modeled)
    assert found == tables(studied.folder / "study")
    assert set(SAME) - set(found) == {
        "first_layer.csv",
        "controls.csv",
    }  # not asked for, or few seeds
    assert metrics(modeled) == metrics(studied.folder / "study")
    assert len(metrics(modeled)) > 10
    # Batch norm's statistics and the weights of several networks: rows that are not all alike.
    assert found["measurements.csv"].count(b"\n") > 200


def test_only_what_other_checkpoints_are_of_is_done_again(
    own: Own, begun: Path, modeled: Path
) -> None:
    one, other = (own.checkpoints / f"finetune-order0-seed{seed}-task2.pt" for seed in (0, 1))
    aside = one.rename(own.folder / "aside.pt")
    other.rename(one)
    aside.rename(other)
    own.model()
    twice = {job for job, each in folders(begun).items() if len(each) == 2}
    assert twice == {"finetune.order-0.seed-0", "finetune.order-0.seed-1"}
    assert tables(begun)["measurements.csv"] != tables(modeled)["measurements.csv"]


def test_status_and_figures_need_none_of_the_users_code(
    studied: Own, modeled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for root in (studied.folder / "study", modeled):
        # Beside it there is no file of code, and nothing is registered.
        copy = Path(shutil.copytree(root, tmp_path / root.name / "run"))
        show_status(copy, as_json=True)
        told = json.loads(capsys.readouterr().out)["learners"]
        finished = {own["learner"]: own["finished"] for own in told}
        assert finished == {"finetune": 4, "offline": 2, "untrained": 2}
        assert all(own["measurements"] == own["measurements_finished"] > 0 for own in told)
    asked = FigureOptions(only="depth", format="svg", learners="finetune", out=tmp_path / "drawn")
    draw_requested(copy, asked)
    assert [path.suffix for path in (tmp_path / "drawn").glob("depth*.svg")]
    assert not REGISTRY.networks


def test_a_run_grown_by_a_seed_does_the_jobs_of_that_alone(own: Own, modeled: Path) -> None:
    whole = own.checkpoints.rename(own.folder / "whole")
    seed_1 = shutil.ignore_patterns("*seed1*", "offline-1.pt")
    shutil.copytree(whole, own.checkpoints, ignore=seed_1)
    before = results(root := own.model())
    assert before
    assert not results(root, "seed-1")
    shutil.copytree(whole, own.checkpoints, dirs_exist_ok=True)
    own.model()
    assert results(root, "seed-0") == before
    assert len({job for job in folders(root) if "seed-1" in job}) == 4
    assert tables(root) == tables(modeled)


def test_a_recorders_folder_gives_the_same_as_its_files(own: Own, modeled: Path) -> None:
    recorded(own)
    folder = str(own.folder / "rec")
    flags: dict[str, Any] = {"orders": None, "offline": None, "tasks": None, "data": None}
    root = own.model("run", folder, checkpoints=None, network=f"{own.code}:build", **flags)
    rows = tables(modeled)["measurements.csv"].replace(b"few-digits,", b"data,")
    assert tables(root)["measurements.csv"] == rows
    before = results(root)
    # The same networks by the names of their files: nothing is done again.
    named = {
        "checkpoints": f"{folder}/runs/{{learner}}/order-{{order}}/seed-{{seed}}/task-{{task}}.pt",
        "offline": f"{folder}/offline/seed-{{seed}}.pt",
    }
    own.model("run", **named, data=f"{folder}/data.pt")
    assert results(root) == before


def recorded(own: Own) -> None:
    """Record the same networks in a loop that trains nothing."""
    with apart(), importing(f"{own.code}:build"):
        code = importlib.import_module(own.code.stem)
    train, test = code.load()
    model, named = code.build(), {"learner": "finetune", "train": train}
    for order, seed in product(ORDERS, (0, 1)):
        tasks = [TASKS[task - 1] for task in ORDERS[order]]
        rec = probe.Recorder(
            own.folder / "rec", model, test, tasks, seed=seed, order=order, **named
        )
        for task in (1, 2):
            _fill(model, own.checkpoints / f"finetune-order{order}-seed{seed}-task{task}.pt")
            rec.after_task(task)
        _fill(model, own.checkpoints / f"offline-{seed}.pt")
        rec.offline(model)


def _fill(model: torch.nn.Module, path: Path) -> None:
    state = torch.load(path, weights_only=True)["state_dict"]
    model.load_state_dict({name.removeprefix("model."): each for name, each in state.items()})
