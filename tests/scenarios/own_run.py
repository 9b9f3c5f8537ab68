"""A network and data of a user's own in a file, studied, and its checkpoints analyzed.

Four classes of small digits in two tasks, a network with batch norm, two orders and two
seeds.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from scenarios.options import ModelOptions, RunOptions
from tests.scenarios.table_names import LAYERS, NOTES
from tests.scenarios.tiny_run import contents

MODULE = "own_nets"

SOURCE = '''
"""A user's own network and data."""

from collections import OrderedDict

import torch
from sklearn.datasets import load_digits
from torch import nn

import probe


@probe.network("mine", features=["first", "second"])
def build():
    """Make the network."""
    first = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    second = nn.Sequential(nn.Linear(144, 8), nn.BatchNorm1d(8), nn.ReLU())
    return nn.Sequential(OrderedDict(first=first, second=second, output=nn.Linear(8, 4)))


@probe.data("few-digits")
def load():
    """Return (train, test)."""
    images, y = load_digits(n_class=4, return_X_y=True)
    x, y = torch.tensor(images).float().view(-1, 1, 8, 8) / 16, torch.tensor(y)
    return (x[:80], y[:80]), (x[80:140], y[80:140])
'''

STUDY = """
name = "own"
orders = "rotate"
[scenario]
data = "few-digits"
tasks = [[0, 1], [2, 3]]
[network]
name = "mine"
[training]
epochs = 1
batch_size = 16
learning_rate = 0.01
[probing]
checkpoints = "all"
[learners.finetune]
[learners.offline]
"""

TASKS = [[0, 1], [2, 3]]
ORDERS = {"0": [1, 2], "1": [2, 1]}
RECIPE = {"epochs": 1, "batch_size": 16, "learning_rate": 0.01}
PATTERN = "{learner}-order{order}-seed{seed}-task{task}.pt"
OFFLINE = "offline-{seed}.pt"

# What costs need, which only who has trained a network knows.
COSTS = re.compile("(ms|sss|ce|model_size_mb|cl_.*)")

SAME = ("measurements.csv", "summary.csv", *LAYERS, NOTES)
"""The tables in which a study and an analysis of its checkpoints are the same, byte for byte."""


@dataclass(frozen=True)
class Own:
    """A user's folder: a Python file, a study, checkpoints in `ckpt`, and run directories."""

    folder: Path

    @property
    def code(self):
        return self.folder / f"{MODULE}.py"

    @property
    def checkpoints(self):
        return self.folder / "ckpt"

    def written(self, source=SOURCE):
        """Return the same, its files written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.code.write_text(source)
        (self.folder / "study.toml").write_text(STUDY)
        lines = (f"{name} = {tasks}\n" for name, tasks in ORDERS.items())
        (self.folder / "orders.toml").write_text("".join(lines))
        return self

    def run(self, out="study", **flags):
        """Run the study; return its run directory."""
        from scenarios.commands.run import run_study

        flags = {"executor": "inline", "seeds": 2, "load": (str(self.code),), **flags}
        options = RunOptions(out=self.folder / out, **flags)
        with quiet():
            assert run_study(str(self.folder / "study.toml"), options)
        return self.folder / out

    def model(self, out="model", target="", **changed):
        """Do what `probe model` does; return the run directory."""
        from scenarios.commands.model import probe_model

        flags = {
            "out": self.folder / out,
            "checkpoints": str(self.checkpoints / PATTERN),
            "offline": str(self.checkpoints / OFFLINE),
            "orders": str(self.folder / "orders.toml"),
            "data": f"{self.code}:load",
            "tasks": "0-1,2-3",
            "workers": 1,
            **RECIPE,
            **changed,
        }
        with quiet():
            assert probe_model(target or f"{self.code}:build", ModelOptions(**flags))
        return self.folder / out

    def keep(self, study):
        """Copy what a study has trained, as a user's program would have written it."""
        self.checkpoints.mkdir(exist_ok=True)
        for path in study.glob("jobs/*seed-*/*/after-[0-9].pt"):
            job = path.parts[-3]
            run = re.fullmatch(r"(\w+)(?:\.(order)-(\d))?\.seed-(\d)", job)
            assert run
            learner, _, order, seed = run.groups()
            name = f"{learner}-order{order}-seed{seed}-task{path.stem.removeprefix('after-')}.pt"
            state = torch.load(path, weights_only=True)["state_dict"]
            wrapped = {
                "state_dict": {f"model.{key}": value for key, value in state.items()}
            }
            torch.save(
                wrapped, self.checkpoints / (name if order else f"offline-{seed}.pt")
            )


@contextmanager
def quiet():
    """Do without figures and what is printed, which take longer than the work."""
    with apart(), pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        for drawing in (
            "scenarios.commands.run.build",
            "scenarios.commands.screen.results.show_outcome",
            "figures.build.Plot.write",
            "probe.results.analysis.Analysis.report",
        ):
            patch.setattr(drawing, lambda *_, **__: None)
        yield


@contextmanager
def apart():
    """Import a user's module anew within the block, as another process would."""
    sys.modules.pop(MODULE, None)
    try:
        yield
    finally:
        sys.modules.pop(MODULE, None)


def tables(root):
    """Return the tables that do not depend on whether a network was trained here."""
    return {
        name: (root / name).read_bytes() for name in SAME if (root / name).is_file()
    }


def metrics(root):
    """Return the rows of the metrics, but those that costs are needed for."""
    with (root / "metrics.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if not COSTS.match(row["metric"])]


def results(root, job=""):
    """Return what is kept of jobs whose names hold a text, with what shows a change."""
    every = contents(root / "jobs")
    return {
        name: state for name, state in every.items() if job in name.partition("/")[0]
    }


def folders(root):
    """Return the folders of each job, one for each fingerprint."""
    found = {}
    for path in root.glob("jobs/*/*/"):
        found.setdefault(path.parent.name, set()).add(path.name)
    return found
