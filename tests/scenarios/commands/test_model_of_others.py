"""`probe model`: its tables say what Mammoth, PILOT and recorders have logged."""

import importlib
import sys

import numpy as np
import pytest
from torch import nn

from probe.metrics.matrix_file import read_log
from probe.record.recorder import Recorder
from probe.results.run_directory import next_of
from probe.tables.matrices import mean_matrices
from probe.tables.table_file import read_table
from tests.probe.metrics.test_log_file import PRINTED
from tests.probe.record.readers_nets import RUNS
from tests.probe.record.tiny import TASKS, examples, network

NETS = """
from tests.probe.record.readers_nets import {build} as build, examples


def load():
    return examples({classes}), examples({classes})
"""
LINE = (
    "model nets:build --from {name} --checkpoints {folder} --data nets:load "
    "--readouts linear"
)


@pytest.mark.parametrize(
    ("name", "build", "classes", "tasks"),
    [("mammoth", "Mammoth", 6, "--tasks 0-1,2-3,4-5"), ("pilot", "Pilot", 14, "")],
)
def test_the_last_row_of_r_is_that_of_the_log(probe, cwd, name, build, classes, tasks):
    # A name of its own, as a module is imported once.
    (cwd / f"nets_{name}.py").write_text(NETS.format(build=build, classes=classes))
    line = LINE.format(name=name, folder=RUNS / name).replace("nets:", f"nets_{name}:")
    code, _, err = probe(f"{line} {tasks} --workers 1 --out out")
    assert (code, err) == (0, "")
    found = mean_matrices(read_table(cwd / "out" / "measurements.csv", "measurements"))
    [R] = [
        matrix
        for learner, matrix in found.items()
        if learner not in ("offline", "untrained")
    ]
    assert _last(R) == pytest.approx(_last(read_log(PRINTED[name][0], name)), abs=6e-5)
    # Without the order of the classes they would not be.
    assert np.ptp(_last(R)) > 0.1


def _last(R):
    return R.values[-1].tolist()


ARCHS = """from tests.probe.record.tiny import network, nn, torch
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = network()
    def forward(self, x):
        return {"logits": self.inner(x)}
call = lambda model, x: model(x)["logits"]
deep = lambda: nn.Sequential(nn.Linear(8, 8), network())
def read(path):
    model = deep() if "deep" in str(path) else network()
    model.load_state_dict(torch.load(path))
    return model
"""


def test_each_learner_of_a_recording_is_measured_with_its_network(probe, cwd, undrawn):
    (cwd / "archs.py").write_text(ARCHS)
    last = {}
    for name, layers in ("shallow", network()), ("deep", [nn.Linear(8, 8), network()]):
        model = nn.Sequential(*layers)
        rec = Recorder(
            "rec", model, examples(60, 1), TASKS, learner=name, train=examples()
        )
        rec.after_task(3)
        last[name] = _last(rec.R)
    networks = "--network shallow=archs:network,deep=archs:deep --load archs:read"
    assert probe(f"model rec {networks} --readouts ncm --workers 1 --out out")[0] == 0
    found = mean_matrices(read_table(cwd / "out" / "measurements.csv", "measurements"))
    assert {name: _last(found[name]) for name in last} == last
    # Two files of one method would answer for the other, too.
    assert next_of(cwd / "out") == ""


@pytest.mark.parametrize(
    ("settings", "flags", "suggested"),
    [
        ({"call": True, "head": "multi"}, "--call archs:call", "--call archs:call"),
        ({"output": "logits"}, "", "--output logits"),
    ],
)
def test_head_and_output_of_a_recording_are_those_of_its_measurement(
    probe, cwd, undrawn, monkeypatch, settings, flags, suggested
):
    (cwd / "archs.py").write_text(ARCHS)
    monkeypatch.syspath_prepend(cwd)
    archs = importlib.import_module("archs")
    settings = settings | ({"call": archs.call} if "call" in settings else {})
    rec = Recorder(
        "rec", archs.Named(), examples(60, 1), TASKS, train=examples(), **settings
    )
    for tasks_seen in (2, 3):
        rec.after_task(tasks_seen)
    monkeypatch.delitem(sys.modules, "archs")
    line = f"model rec --network archs:Named {flags} --readouts ncm --workers 1"
    assert probe(f"{line} --out out")[0] == 0
    found = mean_matrices(read_table(cwd / "out" / "measurements.csv", "measurements"))
    assert _last(found["model"]) == pytest.approx(_last(rec.R))
    assert next_of(cwd / "out").endswith(f" --new archs:new {suggested}")
    assert probe(f"{line} --head single --out other")[0] == 0
    assert "single" in (cwd / "other" / "measurements.csv").read_text()
