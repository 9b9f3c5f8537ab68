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


LOADS = '''

class Inner(nn.Module):
    """A network with a module called output that is not its output."""

    def __init__(self):
        super().__init__()
        self.output, self.last = nn.Linear(64, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.last(torch.relu(self.output(x.flatten(1)))) * 1.0


def pretrained():
    model = Inner()
    model.load_state_dict(torch.load("pre.pt", weights_only=True))
    return model
'''


@pytest.fixture
def loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    """A folder with a network that is not drawn but loaded from a file."""
    own = Own(tmp_path).written(SOURCE + LOADS)
    monkeypatch.chdir(tmp_path)
    _draw(0, "task2.pt")
    return own


def _draw(seed: int, name: str) -> None:
    draw = torch.Generator().manual_seed(seed)
    shapes = {"output": (8, 64), "last": (4, 8)}
    weights = {f"{n}.weight": torch.randn(s, generator=draw) for n, s in shapes.items()}
    biases = {f"{n}.bias": torch.randn(s[0], generator=draw) for n, s in shapes.items()}
    torch.save(weights | biases, name)


def test_weights_that_the_factory_loads_are_part_of_what_it_is(loading: Own) -> None:
    target = f"{loading.code}:pretrained"
    _draw(1, "pre.pt")
    first = tables(loading.model(target=target, **FEW))
    _draw(2, "pre.pt")
    second = tables(loading.model(target=target, **FEW))
    # The floor is that of the network as it is made.
    assert first["layers.csv"] != second["layers.csv"]
    assert tables(loading.model("fresh", target, **FEW)) == second


def test_a_module_called_output_is_not_taken_for_the_output(loading: Own) -> None:
    target = f"{loading.code}:Inner"
    root = loading.model(target=target, **FEW, features="output,last")
    rows = [line.split(",") for line in (root / "layers.csv").read_text().splitlines()[1:]]
    value = {row[2]: row[6] for row in rows if row[4:6] == ["", "accuracy"] and row[1] == "linear"}
    # Behind it all four classes can be read; the weights after it are random.
    assert list(value) == ["output", "last"] or set(value) == {"output", "logits"}
    assert float(value["output"]) > 0.6 > max(float(v) for n, v in value.items() if n != "output")
