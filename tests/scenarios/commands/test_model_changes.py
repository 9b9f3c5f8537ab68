"""A network, its calling or its controls that changed between two runs: done again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.scenarios.own_run import SOURCE, Own, tables

MORE = '''

class Two(nn.Module):
    """A network with a head too many, and a module called output that is not its output."""

    def __init__(self):
        super().__init__()
        self.output = nn.Sequential(nn.Flatten(), nn.Linear(64, 8))
        self.one, self.other = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        hidden = torch.relu(self.output(x))
        return self.one(hidden), self.other(hidden)


def pretrained():
    model = Two()
    model.load_state_dict(torch.load("pre.pt", weights_only=True))
    return model
'''

FEW: dict[str, Any] = {
    "orders": None,
    "offline": None,
    "readouts": "linear",
    "learner": "finetune",
    "checkpoints": "task{task}.pt",
}


def draw(seed: int, name: str) -> None:
    """Write a checkpoint of the network of two outputs."""
    generator = torch.Generator().manual_seed(seed)
    layers = {"output.1": nn.Linear(64, 8), "one": nn.Linear(8, 4), "other": nn.Linear(8, 4)}
    state = {
        f"{n}.{key}": x for n, layer in layers.items() for key, x in layer.state_dict().items()
    }
    for values in state.values():
        values.normal_(generator=generator)
    torch.save(state, name)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    """A folder with a network of two outputs, of which one has to be told, and a checkpoint."""
    own = Own(tmp_path).written(SOURCE + MORE)
    monkeypatch.chdir(tmp_path)
    draw(0, "task2.pt")
    return own


def test_weights_that_the_factory_loads_are_part_of_what_it_is(two: Own) -> None:
    """The floor is that of the network as it is made."""
    few = {"target": f"{two.code}:pretrained", **FEW, "output": "0"}
    draw(1, "pre.pt")
    first = tables(two.model(**few))
    draw(2, "pre.pt")
    second = tables(two.model(**few))
    assert first["layers.csv"] != second["layers.csv"]
    assert tables(two.model("fresh", **few)) == second
