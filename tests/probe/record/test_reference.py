"""Data that a recorder names instead of keeping them."""

from __future__ import annotations

import re

import pytest

import probe
from probe.errors import InputError
from probe.record.recorder import Recorder
from scenarios.commands.model import probe_model
from scenarios.options import ModelOptions
from tests.probe.record.tiny import TASKS, examples, network
from tests.scenarios.own_run import apart, quiet, tables

SOURCE = """
from tests.probe.record.tiny import examples, network as build

def load():
    return examples(), examples(60, 1)

def other():
    return examples(120, 1), examples(60, 1)
"""


def recorded(folder, data=None, **changes):
    given = {"test": examples(60, 1), "train": examples(), **changes}
    rec = Recorder(folder, network(), given.pop("test"), TASKS, data=data, **given)
    rec.after_task(3)
    return folder


def analyzed(folder, *data):
    model = probe.Model(folder, fresh=network)
    return probe.analyze(model, *data, features=["0"], readouts=["linear"]).to_pandas()


def test_a_name_and_a_hash_serve_as_the_data_do(tmp_path):
    """No data in the folder, and the same results once they are given again; others are refused."""
    kept, named = recorded(tmp_path / "a"), recorded(tmp_path / "b", "mydata:load")
    assert {path.name for path in named.glob("data*")} == {"data.json"}
    assert {path.name for path in kept.glob("data*")} == {"data.pt"}
    assert analyzed(named, examples(), examples(60, 1)).equals(analyzed(kept))
    with pytest.raises(InputError, match="those that mydata:load gives: give them"):
        analyzed(named)
    for data in ((examples(120, 1), examples(60, 1)), (examples(), examples(66, 1))):
        with pytest.raises(InputError, match="not those of the recording, which mydata:load gave"):
            analyzed(named, *data)
    recorded(named, seed=1)  # of the same data, which need no copy either
    assert not (named / "data.pt").exists()
    with pytest.raises(InputError, match="not those of the recording"):
        recorded(named, seed=2, train=examples(66))
    recorded(kept, "mydata:load", seed=1)
    with pytest.raises(InputError, match="holds other train data"):
        recorded(kept, seed=2, train=examples(66))


def test_the_command_runs_no_code_that_the_folder_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_nets.py").write_text(SOURCE)
    named, kept = recorded(tmp_path / "b", "own_nets:load"), recorded(tmp_path / "a")
    flags = {"network": "own_nets:build", "readouts": "linear", "features": "0", "workers": 1}

    def run(folder, **more):
        with apart(), quiet():
            assert probe_model(str(folder), ModelOptions(out=tmp_path / "out", **flags, **more))
        return re.sub("(own_nets:load|data)", "", tables(tmp_path / "out")["rows.csv"].decode())

    with pytest.raises(InputError, match="give --data own_nets:load"):
        run(named)
    with pytest.raises(InputError, match="not those of the recording"):
        run(named, data="own_nets:other")
    assert run(named, data="own_nets:load").splitlines()[1:] == run(kept).splitlines()[1:]


def test_a_name_needs_the_data_and_a_damaged_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="give train=, too"):
        recorded(tmp_path, "mydata:load", train=None)
    recorded(tmp_path, "mydata:load")
    (tmp_path / "data.json").write_text("{}")
    with pytest.raises(InputError, match=r"data\.json is damaged"):
        analyzed(tmp_path, examples(), examples(60, 1))
