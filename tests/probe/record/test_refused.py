"""Mistakes with files, states, recorders and recordings: the message names what is wrong.

`tests/bad_input` has those that a user of the command line can make.
"""

import re
import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.examples import Examples
from probe.record.checkpoints import Checkpoints
from probe.record.recorder import Recorder
from probe.record.recording import read_recording
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import TASKS, examples, network, written


def refused(*values):
    """Within the block an InputError of one line is raised that names these values."""
    return pytest.raises(
        InputError, match="^[^\n]*" + "[^\n]*".join(map(re.escape, values))
    )


P = "{learner}/seed{seed}-task{task}.pt"
EVERY = [
    f"{a}/seed{s}-task{t}.pt" for a in ("er", "ft") for s in (0, 1) for t in (1, 2)
]
PATTERNS = [
    (P, [f"er/{letter}.pt" for letter in "abcde"], "in er, which has a.pt, b.pt, c.pt"),
    (P, ["er/a.pt", "ft/a.pt"], "in er and 1 more, which has a.pt"),
    ("{seed}{task}", EVERY, "'{seed}{task}'"),
    ("{seed:02}-{task}", EVERY, "'{seed:02}-{task}'"),
    ("", EVERY, "''"),
    ("{learner}/{learner}-{task}", ["a/b-1"], "a/b-1 has two values for {learner}"),
    (P, EVERY[:6], "ft/order-0/seed-1"),
]


@pytest.mark.parametrize(("pattern", "there", "value"), PATTERNS)
def test_patterns(tmp_path, monkeypatch, pattern, there, value):
    written(tmp_path, there)
    monkeypatch.chdir(tmp_path)
    with refused(value):
        Checkpoints.find(pattern)


def test_checkpoints_and_offline_networks_that_are_missing(tmp_path):
    written(tmp_path, [*EVERY, "off0.pt"])
    with refused("seed 1"):
        Checkpoints.find(tmp_path / P, tmp_path / "off{seed}.pt")


def test_states(tmp_path):
    path = tmp_path / "a.pt"
    with refused("a.pt", "No such file"):
        load_state(path)
    torch.save({"a": torch.ones(2).to_sparse()}, path)
    with refused("a.pt", "Tensor at 'a'"):
        load_state(path)


@pytest.mark.parametrize("has_sums", [True, False])
def test_a_flipped_bit_of_a_weight(tmp_path, has_sums):
    """A file without sums is read, damaged or not."""
    state = {
        "a": torch.full((99,), 0.5),
        "b": torch.ones(2),
    }
    path = tmp_path / "a.pt"
    torch.serialization.set_crc32_options(has_sums)
    try:
        torch.save(state, path)
    finally:
        torch.serialization.set_crc32_options(True)
    assert load_state(path)["a"][0] == 0.5
    damaged = path.read_bytes().replace(b"\0\0\0?", b"\0\0\1?", 1)
    path.write_bytes(damaged)
    if has_sums:
        with refused("a.pt is damaged"):
            load_state(path)
    else:
        assert load_state(path)["a"][0] != 0.5


def test_states_of_another_network():
    model, state = network(), network().state_dict()
    for change in ({"0.bias": torch.ones(3)}, {"x.bias": state.pop("4.bias")}):
        with refused("task 1", *change, "load="):
            fit_state(model, state | change, "task 1")
    fit_state(network().half(), network().double().state_dict(), "task 1")


@pytest.mark.parametrize(("name", "denied"), [("a" * 300, False), ("rec", True)])
def test_folders_of_recorders_that_cannot_be_used(tmp_path, monkeypatch, name, denied):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    if denied:
        monkeypatch.setattr(Path, "read_bytes", refuse)
    with refused("run.npz cannot be read"):
        recorder(tmp_path / name)


class WithExtra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        pass


TEST = examples(60, 1)
RECORDERS = [
    ({"model": nn.Linear}, "class Linear"),
    ({"model": WithExtra(8, 6)}, "dict at '_extra_state'"),
    ({"model": nn.Linear(8, 4)}, "(8, 6)"),
    ({"call": 3}, "call"),
    ({"tasks": [[0, 1, 2, 3, 4, 5], []]}, "tasks [2]"),
    ({"test": 3}, "test: data are of type int"),
    ({"test": TEST.of_classes([0, 1, 4, 5])}, "0 examples of task 2"),
    (
        {"test": Examples(TEST.x.index_fill(0, torch.tensor(2), torch.nan), TEST.y)},
        "NaN or Inf in example 2",
    ),
    ({"train": Examples(torch.ones(6, 3), torch.arange(6))}, "of train"),
    ({"learner": "a/b"}, "'a/b'"),
    ({"learner": "offline"}, "'offline'"),
    ({"order": "a" * 81}, "order"),
    ({"seed": -1}, "-1"),
]


def recorder(folder, **changes):
    return Recorder(
        folder, **{"model": network(), "test": TEST, "tasks": TASKS, **changes}
    )


@pytest.mark.parametrize(("changes", "value"), RECORDERS)
def test_recorders(tmp_path, changes, value):
    with refused(value):
        recorder(tmp_path / "rec", **changes)
    assert not list(tmp_path.rglob("*.json"))


def test_networks_without_numbers(tmp_path):
    diverged = network()
    nn.init.constant_(diverged[0].bias, float("nan"))
    with refused("the joint network has NaN", "0.bias"):
        recorder(tmp_path).offline(diverged)
    lazy = nn.LazyLinear(6)
    with refused("weight", "no values"):
        recorder(tmp_path, model=lazy).after_task(1)
    assert not list(tmp_path.rglob("*.pt"))


@pytest.mark.parametrize("learned", [4, True])
def test_numbers_of_tasks(tmp_path, learned):
    with refused(str(learned)):
        recorder(tmp_path).after_task(learned)


BESIDE = [
    ({"train": examples(66)}, "other train data"),
    ({"test": examples(66, 1), "seed": 1, "train": examples()}, "other test"),
    ({"test": examples(66, 1)}, "other test examples"),
    ({"tasks": TASKS[::-1], "seed": 1}, "order="),
    ({"tasks": [[0, 1, 2], [3, 4, 5]], "order": 1}, "share their tasks"),
]


@pytest.mark.parametrize(("changes", "value"), BESIDE)
def test_runs_beside_others(tmp_path, changes, value):
    recorder(tmp_path, train=examples()).after_task(1)
    with refused(value):
        recorder(tmp_path, **changes)
    assert len(read_recording(tmp_path).R) == 1


RUN = "runs/model/order-0/seed-0"


def damaged(folder):
    path = folder / RUN / "run.npz"
    path.write_bytes(path.read_bytes()[:-9])


RECORDINGS = [
    (shutil.rmtree, "is not a folder"),
    (damaged, "run.npz is damaged"),
    (lambda at: (at / RUN / "task-1.pt").unlink(), "task-1.pt"),
    (
        lambda at: (at / RUN).rename((at / RUN).with_name("seed-7")),
        "model/order-0/seed-0",
    ),
    (
        lambda at: recorder(at, seed=1, output=0, call=lambda m, x: (m(x),)).after_task(
            1
        ),
        "output=0, head=None",
    ),
]


def test_a_run_goes_on_with_its_settings(tmp_path):
    recorder(tmp_path).after_task(1)
    with refused("output=None, head=None", "head='multi'"):
        recorder(tmp_path, head="multi")


@pytest.mark.parametrize(("change", "value"), RECORDINGS)
def test_recordings(tmp_path, change, value):
    recorder(tmp_path / "rec").after_task(1)
    read_recording(tmp_path / "rec")
    change(tmp_path / "rec")
    with refused(value):
        read_recording(tmp_path / "rec")
