"""What of a network, its calling and its levels is changed between two runs is done again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.scenarios.own_run import SOURCE, Own, folders, tables

TWO = '''

class Two(nn.Module):
    """A network with a head too many."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU())
        self.one, self.other = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        hidden = self.first(x)
        return self.one(hidden), self.other(hidden)


def one(model, x):
    return model(x)[0]


def other(model, x):
    return model(x)[1]
'''

FEW: dict[str, Any] = {
    "orders": None,
    "offline": None,
    "readouts": "linear",
    "learner": "finetune",
    "checkpoints": "task{task}.pt",
}


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    """A folder with a network of two outputs, of which one has to be told."""
    own = Own(tmp_path).written(SOURCE + TWO)
    monkeypatch.chdir(tmp_path)
    shapes = {"first.1": (8, 64), "one": (4, 8), "other": (4, 8)}
    draw = torch.Generator().manual_seed(0)
    state = {
        f"{name}.{part}": torch.randn(shape if part == "weight" else shape[:1], generator=draw)
        for name, shape in shapes.items()
        for part in ("weight", "bias")
    }
    torch.save(state, "task2.pt")
    return own


@pytest.mark.parametrize(
    ("flag", "values"),
    [("output", ("0", "1")), ("call", ("{}:one", "{}:other"))],
)
def test_another_way_to_its_logits_makes_it_another(
    two: Own, flag: str, values: tuple[str, str]
) -> None:
    target = f"{two.code}:Two"
    each = [{flag: value.format(two.code)} for value in values]
    first = tables(two.model(target=target, **FEW, **each[0]))
    second = tables(root := two.model(target=target, **FEW, **each[1]))
    assert first["rows.csv"] != second["rows.csv"]
    assert {len(each) for each in folders(root).values()} == {2}, folders(root)
    assert tables(two.model("fresh", target, **FEW, **each[1])) == second


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Own:
    """A folder with the checkpoints of one run, and two offline networks."""
    own = Own(tmp_path_factory.mktemp("levels")).written()
    own.keep(own.run(seeds=2, learners="offline", orders="none"))
    own.keep(own.run(seeds=1, learners="finetune", orders="none"))
    return own


@pytest.mark.parametrize("flags", [{}, {"train_offline": True}], ids=["given", "trained"])
def test_another_ceiling_is_compared_anew(levels: Own, tmp_path: Path, flags: Any) -> None:
    """Similarity to the offline network belongs to that one."""

    def given(out: str, **flags: Any) -> dict[str, bytes]:
        name = str(tmp_path / "given-{seed}.pt")
        few = {"orders": None, "readouts": "linear", "offline": name, **flags}
        return tables(levels.model(f"{tmp_path.name}-{out}", **few))

    shutil.copy(levels.checkpoints / "offline-1.pt", tmp_path / "given-0.pt")
    before = given("run")
    shutil.copy(levels.checkpoints / "offline-0.pt", tmp_path / "given-0.pt")
    other = {**flags, "offline": None} if flags else {}
    after = given("run", **other)
    assert after["diagnostics.csv"] != before["diagnostics.csv"]
    assert after == given("fresh", **other)
