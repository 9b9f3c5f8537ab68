"""Patterns find what a plain search finds, and states go into a network and back unchanged."""

from __future__ import annotations

import itertools
import random
import sys

import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.record.checkpoints import Checkpoints, Run
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import network, same_state

GRID = list(itertools.product(("er", "der-pp_2"), ("2", "10", "a"), (0, 12), (1, 2, 10)))


def written(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{learner}/seed{seed}-order{order}-task{task}.pt", "{0}/seed{2}-order{1}-task{3}.pt"),
        ("{seed}/{learner}.{order}/{task}", "{2:04}/{0}.{1}/{3:02}"),
        ("[x]*/{learner} {order} {seed}+{task}.ckpt", "[x]*/{0} {1} {2}+{3}.ckpt"),
        ("{learner}/{learner}_{order}/{seed}_{task}_{seed}", "{0}/{0}_{1}/{2}_{3:03}_{2:02}"),
        ("{{{learner}}}/{order}/s{seed}t{task}", "{{{0}}}/{1}/s{2}t{3}"),
    ],
)
def test_every_place_is_found_and_nothing_else(tmp_path, pattern, name):
    places = list(GRID)
    random.Random(0).shuffle(places)
    written(tmp_path, [name.format(*place) for place in places])
    strange = ["er/notes.txt", "log", "er/seed0-order2-task1.pt.4f.tmp", "x/1", "0000/er.2/1.old"]
    written(tmp_path, [f"other {name}" for name in strange])
    for folder in {(tmp_path / name.format(*place)).parent for place in places}:
        (folder / "events.log").touch()
        (folder / "cache").mkdir()
    found = Checkpoints.find(tmp_path / pattern)
    expected = {
        Run(learner, order, seed): {
            task: tmp_path / name.format(learner, order, seed, task) for task in (1, 2, 10)
        }
        for learner, order, seed, _ in GRID
    }
    assert found.runs == expected
    assert [run.order for run in found.runs][:6] == ["2", "2", "10", "10", "a", "a"]
    assert all(list(steps) == [1, 2, 10] for steps in found.runs.values())
    assert not found.offline


def test_what_a_pattern_lacks_has_a_default(tmp_path, monkeypatch):
    written(tmp_path, ["task0.pt", "task1.pt", "task2.pt", "offline.pt", "off-0.pt", "off-7.pt"])
    monkeypatch.chdir(tmp_path)
    found = Checkpoints.find("task{task}.pt", "offline.pt", learner="mine")
    assert list(found.runs) == [Run("mine", "0", 0)]
    assert {step: str(path) for step, path in found.runs["mine", "0", 0].items()} == {
        step: f"task{step}.pt" for step in range(3)
    }
    assert list(found.offline) == [0]
    # Those of seeds that no run has are left out.
    assert list(Checkpoints.find("task{task}.pt", "off-{seed}.pt").offline) == [0]


WRAPPED = {
    "as it is": lambda model: model.state_dict(),
    "state_dict": lambda model: {"state_dict": model.state_dict(), "epoch": 3},
    "model_state_dict": lambda model: {"epoch": 3, "model_state_dict": model.state_dict()},
    "model": lambda model: {"model": model.state_dict(), "optimizer": {"state": {}}},
    "one in another": lambda model: {"model": {"state_dict": model.state_dict()}, "epoch": 3},
    "DataParallel": lambda model: nn.DataParallel(model).state_dict(),
    "compiled": lambda model: torch.compile(model).state_dict(),
    "all of it": lambda model: {
        "state_dict": {f"model.{k}": v for k, v in nn.DataParallel(model).state_dict().items()}
    },
}


@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_a_state_is_read_from_whatever_it_is_wrapped_in(tmp_path, wrapped):
    model, own = network(1), network(2)
    torch.save(wrapped(model), tmp_path / "a.pt")
    state = load_state(tmp_path / "a.pt")
    assert same_state(state, model.state_dict())
    assert not same_state(own.state_dict(), state)
    fit_state(own, state, "a.pt")
    assert same_state(own.state_dict(), state)


def test_safetensors_are_read_where_the_package_is_there(tmp_path, monkeypatch):
    safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    model = network(1)
    path = tmp_path / "a.safetensors"
    safetensors.save_file(model.state_dict(), path)
    state = load_state(path)
    assert {name: state[name] for name in model.state_dict()}.keys() == state.keys()
    assert all(torch.equal(state[name], one) for name, one in model.state_dict().items())
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"a\.safetensors is damaged"):
        load_state(path)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ValueError, match="pip install safetensors"):
        load_state(path)


def test_files_that_count_tasks_from_0_are_named_by_their_index(tmp_path):
    for index in range(3):
        (tmp_path / f"net{index}.pt").touch()
    [run] = Checkpoints.find(tmp_path / "net{index}.pt").runs.values()
    assert {step: path.name for step, path in run.items()} == {
        1: "net0.pt",
        2: "net1.pt",
        3: "net2.pt",
    }
    with pytest.raises(InputError, match=r"has both \{task\} and \{index\}"):
        Checkpoints.find(tmp_path / "{task}-{index}.pt")
