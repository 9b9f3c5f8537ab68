"""A network, its calling or its controls that changed between two runs: done again."""

from __future__ import annotations

import shutil
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


def one(model, x):
    return model(x)[0]


def few_to_train():
    (x, y), test = load()
    rows = [row for label in range(4) for row in torch.where(y == label)[0][:3].tolist()]
    return (x[sorted(rows)], y[sorted(rows)]), test


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


@pytest.fixture(scope="module")
def controls(tmp_path_factory: pytest.TempPathFactory) -> Own:
    """A folder with the checkpoints of one run, and two offline networks."""
    own = Own(tmp_path_factory.mktemp("controls")).written()
    own.keep(own.run(seeds=2, learners="offline", orders="none"))
    own.keep(own.run(seeds=1, learners="finetune", orders="none"))
    return own


def test_another_ceiling_is_compared_anew(controls: Own, tmp_path: Path) -> None:
    """Similarity to the offline network belongs to that one, given or trained."""
    name = str(tmp_path / "given-{seed}.pt")

    def given(out: str, **flags: Any) -> dict[str, bytes]:
        few = {"orders": None, "readouts": "linear", "offline": name, **flags}
        return tables(controls.model(out, **few))

    trained: dict[str, Any] = {"offline": None, "train_offline": True}
    shutil.copy(controls.checkpoints / "offline-1.pt", name.format(seed=0))
    before = given("run")["diagnostics.csv"]
    shutil.copy(controls.checkpoints / "offline-0.pt", name.format(seed=0))
    for out, flags in (("fresh", {}), ("trained", trained)):
        after = given("run", **flags)
        assert after["diagnostics.csv"] != before
        assert after == given(out, **flags)
