"""Data that a recorder names instead of keeping them."""

import re

import pytest
import torch

import probe
from probe.errors import InputError
from probe.examples import Examples
from probe.record.recorder import Recorder
from scenarios.commands.model import probe_model
from scenarios.options import ModelOptions
from tests.probe.record.tiny import TASKS, examples, network
from tests.scenarios.own_run import apart, quiet, tables

SOURCE = """
from tests.probe.record.tiny import examples, network as build
load = lambda: (examples(), examples(60, 1))
other = lambda: (examples(120, 1), examples(60, 1))
"""
OTHERS = "which own_nets:load gives"


def recorded(folder, data=None, seed=0, train=True):
    given = examples() if train is True else train
    model, test = network(), examples(60, 1)
    model.get_parameter("4.bias").data += seed
    Recorder(folder, model, test, TASKS, train=given, data=data, seed=seed).after_task(
        3
    )
    return folder


def analyzed(folder, *data):
    model = probe.Model(folder, fresh=network)
    return probe.analyze(model, *data, features=["0"], readouts=["linear"]).to_pandas()


def test_a_name_and_a_hash_serve_as_the_data_do(tmp_path):
    """No data in the folder, and the same results once they are given again; others are refused."""
    kept, named = recorded(tmp_path / "a"), recorded(tmp_path / "b", "own_nets:load")
    recorded(kept, "own_nets:load", seed=1)  # kept already
    recorded(named, seed=1)  # named already
    assert [path.name for own in (kept, named) for path in own.glob("data*")] == FILES
    assert analyzed(named, examples(), examples(60, 1)).equals(analyzed(kept))
    with pytest.raises(InputError, match="those that own_nets:load gives: give them"):
        analyzed(named)
    with pytest.raises(InputError, match="are needed"):
        analyzed(kept, None, examples(60, 1))
    for wrong in (
        lambda: analyzed(named, examples(), examples(66, 1)),
        lambda: recorded(named, seed=2, train=examples(66)),
    ):
        with pytest.raises(InputError, match=OTHERS):
            wrong()
    with pytest.raises(InputError, match="give train=, too"):
        recorded(named, "own_nets:load", train=None)
    (named / FILES[1]).write_text("{}")
    with pytest.raises(InputError, match=r"data\.json is damaged"):
        analyzed(named)


FILES = ["data.pt", "data.json"]


def test_the_command_runs_no_code_that_the_folder_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_nets.py").write_text(SOURCE)
    named, kept = recorded(tmp_path / "b", "own_nets:load"), recorded(tmp_path / "a")
    flags = {
        "network": "own_nets:build",
        "readouts": "linear",
        "features": "0",
        "workers": 1,
    }

    def run(folder, **more):
        with apart(), quiet():
            assert probe_model(
                str(folder), ModelOptions(out=tmp_path / "out", **flags, **more)
            )
        return re.sub(
            "\n(own_nets:load|data),",
            "\n",
            tables(tmp_path / "out")["measurements.csv"].decode(),
        )

    with pytest.raises(InputError, match="--data own_nets:load"):
        run(named)
    with pytest.raises(InputError, match=OTHERS):
        run(named, data="own_nets:other")
    assert run(named, data="own_nets:load") == run(kept)
    # Fewer of them are used only once they are known to be those.
    assert run(named, data="own_nets:load", train_limit=5)


def test_other_tasks_of_the_same_examples_are_other_data(tmp_path):
    def tasked(own, shift=0):
        return Examples(own.x, own.y, (torch.arange(len(own)) // 6 + shift) % 3)

    test, named = tasked(examples(60, 1)), {"data": "own_nets:load"}
    Recorder(tmp_path, network(), test, train=tasked(examples()), **named).after_task(3)
    with pytest.raises(InputError, match=OTHERS):
        Recorder(
            tmp_path, network(), test, train=tasked(examples(), 1), **named, seed=1
        )
