"""`--json`: one object and nothing else, with the facts of the text."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarios.commands.screen.terminal import print_json
from scenarios.data.datasets import LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.source import preset_names

Call = Callable[[str], tuple[int, str, str]]

MINE = """
from torch import nn

class Mixing(nn.Sequential):
    def forward(self, x):
        y = self[0](x)
        return self[1](y - y.mean(0))

made = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))

def mixing():
    return Mixing(nn.Linear(4, 6), nn.Linear(6, 2))
"""


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_list(probe: Call) -> None:
    code, out, err = probe("list --json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert names(found["presets"]) == preset_names()
    assert names(found["data_sets"]) == [*LOADERS, "NAME.npz"]
    assert names(found["learners"]) == list(LEARNERS)
    features = {each["name"]: tuple(each["features"]) for each in found["networks"]}
    assert features == {name: each.features for name, each in ARCHITECTURES.items()}
    metrics = {each["paper"]: each["metrics"] for each in found["metrics"]}
    assert {"murata", "chaudhry", "kemker"} <= metrics.keys()
    _, text, _ = probe("list")
    flat = " ".join(text.split())
    for each in (*found["presets"], *found["data_sets"], *found["learners"]):
        assert each["name"] in flat


@pytest.fixture
def mine(cwd: Path) -> Path:
    (cwd / "mine.py").write_text(MINE)
    return cwd


def layers(folder: Path, line: str) -> dict[str, Any]:
    """Return what is printed, by a process of its own: modules of these names are not shared."""
    command = [sys.executable, "-m", "scenarios", "layers", *line.split(), "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_layers(mine: Path) -> None:
    """Sizes counted by hand: 4 x 6 + 6 parameters, then 6 x 2 + 2; six values of four bytes."""
    found = layers(mine, "mine:made --input 4")
    rows = {each.pop("feature"): each for each in found["features"]}
    first = {"type": "Linear", "output": [6], "tensors": 1, "cached_bytes": 24, "slow": None}
    assert rows["0"] == {**first, "frozen": 30, "left": 14, "suggested": "0" in found["suggested"]}
    assert rows["2"]["frozen"] == 44
    assert found["suggested"]
    assert {name for name, row in rows.items() if row["suggested"]} == set(found["suggested"])


def test_layers_of_which_nothing_can_be_kept(mine: Path) -> None:
    [first, last] = layers(mine, "mine:mixing --input 4")["features"]
    assert (first["cached_bytes"], first["slow"]) == (24, None)
    assert last["cached_bytes"] is None
    assert last["slow"].startswith("no values with one row per example")


def test_nan_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.nan, 1.5], "b": {"c": (math.inf, None)}, "d": "NaN"})
    assert json.loads(capsys.readouterr().out) == {
        "a": [None, 1.5],
        "b": {"c": [None, None]},
        "d": "NaN",
    }
