"""Mistakes with files, states, recorders and recordings are refused in one sentence each.

`tests/bad_input` has those that a user of the command line can make.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
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


@contextmanager
def one_sentence(said):
    """Within the block an InputError is raised that says this in one line."""
    with pytest.raises(InputError, match=said) as caught:
        yield
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


P = "{learner}/seed{seed}-task{task}.pt"
EVERY = [f"{a}/seed{s}-task{t}.pt" for a in ("er", "ft") for s in (0, 1) for t in (1, 2)]


@pytest.mark.parametrize(
    ("pattern", "there", "said"),
    [
        (P, ["er/a.pt", "er/b.pt", "er/c.pt", "er/d.pt", "er/e.pt"], "a.pt, b.pt, c.pt, d.pt and"),
        ("nowhere/{task}.pt", [], r"looked in .*nowhere, which is not a folder"),
        ("{seed}{task}", EVERY, "with some text between"),
        ("{seed:02}-{task}", EVERY, "write fields as {seed}"),
        ("", EVERY, "is not a pattern"),
        ("{learner}/{learner}-{task}", ["a/b-1"], "two values for one"),
        (P, EVERY[1:], "er/order-0/seed-0 has no checkpoint after 1 tasks"),
        (P, EVERY[:6], "no checkpoints of ft/order-0/seed-1"),
    ],
)
def test_patterns(tmp_path, monkeypatch, pattern, there, said):
    written(tmp_path, there)
    monkeypatch.chdir(tmp_path)
    with one_sentence(said):
        Checkpoints.find(pattern)


def test_checkpoints_and_offline_networks_that_are_missing(tmp_path):
    written(tmp_path, [*EVERY, "off0.pt"])
    with one_sentence("no offline network of seed 1"):
        Checkpoints.find(tmp_path / P, tmp_path / "off{seed}.pt")
    with one_sentence("there are no checkpoints"):
        Checkpoints(runs={}, offline={})


class Hostile:
    """Would make a file when it is unpickled."""

    def __reduce__(self):
        return open, ("hostile-was-here", "w")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (Hostile(), "could run code"),
        ({"epoch": 3, "loss": 0.1}, "holds no state dict, .* but a table of epoch, loss"),
        ({"a": torch.ones(2).to_sparse()}, "expected a plain tensor"),
    ],
)
def test_states(tmp_path, monkeypatch, content, said):
    monkeypatch.chdir(tmp_path)
    with one_sentence(r"a\.pt cannot be read \(No such file"):
        load_state(tmp_path / "a.pt")
    torch.save(content, tmp_path / "a.pt")
    with one_sentence(said):
        load_state(tmp_path / "a.pt")
    assert not (tmp_path / "hostile-was-here").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"0.bias": torch.ones(3)}, r"size mismatch for 0.bias: .*\[3\].*\[16\]"),
        ({f"x{n}": torch.ones(1) for n in range(9)}, 'Unexpected key.*"x0", "x1"'),
    ],
)
def test_states_of_another_network(change, said):
    model = network()
    with one_sentence(rf"task 1 does not fit the model \(.*{said}.*: give the network"):
        fit_state(model, {**model.state_dict(), **change}, "task 1")


@pytest.mark.parametrize("kind", [torch.complex64, torch.int64, torch.bool])
def test_weights_of_another_kind_of_number(kind):
    changed = {name: one.to(kind) for name, one in network().state_dict().items()}
    with one_sentence(rf"task 1 has '0.weight' of {kind}, expected torch.float32"):
        fit_state(network(), changed, "task 1")
    fit_state(network().half(), network().double().state_dict(), "task 1")


@pytest.mark.parametrize(("name", "denied"), [("a" * 300, False), ("rec", True)])
def test_folders_of_recorders_that_cannot_be_used(tmp_path, monkeypatch, name, denied):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    if denied:
        monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match=r"run\.json cannot be read \(.*or choose another folder"):
        recorder(tmp_path / name)


class WithExtra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        pass


TEST = examples(60, 1)
RECORDERS = [
    ({"model": nn.Linear}, "must be an instance of torch.nn.Module"),
    ({"model": WithExtra(8, 6)}, "has dict under '_extra_state'"),
    ({"model": nn.Linear(8, 4)}, r"expected one logit per class: \(2, 6\)"),
    ({"model": nn.Linear(7, 6)}, "the model raised RuntimeError"),
    ({"call": 3}, "call= must be a function"),
    ({"tasks": [[0, 1, 2, 3, 4, 5], []]}, "have no classes"),
    ({"test": 3}, "test: the data are of type int"),
    ({"test": TEST.of_classes([0, 1, 4, 5])}, "no examples of task 2"),
    ({"test": Examples(TEST.x / 0 * 0, TEST.y)}, "has NaN or Inf"),
    ({"train": Examples(torch.ones(6, 3), torch.arange(6))}, "of train"),
    ({"learner": "a/b"}, "learner is a name of 80 letters, digits"),
    ({"learner": "offline"}, "not that of a control, got 'offline'"),
    ({"order": "a" * 81}, "a name of 80 letters"),
    ({"seed": -1}, "seed must be a whole number"),
    ({"batch_size": 0}, "batch_size must be a whole number, 1 or more"),
]


def recorder(folder, **changes):
    return Recorder(folder, **{"model": network(), "test": TEST, "tasks": TASKS, **changes})


@pytest.mark.parametrize(("changes", "said"), RECORDERS)
def test_recorders(tmp_path, changes, said):
    with one_sentence(said):
        recorder(tmp_path / "rec", **changes)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("learned", [4, True])
def test_numbers_of_tasks(tmp_path, learned):
    with one_sentence("tasks"):
        recorder(tmp_path).after_task(learned)


BESIDE = [
    ({"train": examples(66)}, "holds other train data"),
    ({"test": examples(66, 1), "seed": 1, "train": examples()}, "other test"),
    ({"test": examples(66, 1)}, "with other test examples"),
    ({"tasks": TASKS[::-1], "seed": 1}, "name another order of the tasks"),
    ({"tasks": [[0, 1, 2], [3, 4, 5]], "order": 1}, "share their tasks"),
]


@pytest.mark.parametrize(("changes", "said"), BESIDE)
def test_runs_beside_others(tmp_path, changes, said):
    recorder(tmp_path, train=examples()).after_task(1)
    with one_sentence(said):
        recorder(tmp_path, **changes)
    assert len(read_recording(tmp_path).R) == 1


RUN = "runs/model/order-0/seed-0"


def damaged(at):
    path = at / RUN / "run.json"
    path.write_bytes(path.read_bytes().replace(b'"rows"', b'"sowr"'))


def another_output(at):
    tuples = {"output": 0, "call": lambda model, x: (model(x),)}
    recorder(at, seed=1, **tuples).after_task(1)


RECORDINGS = [
    (shutil.rmtree, "is not a folder"),
    (lambda at: (at / RUN / "run.json").unlink(), "has no network in it yet"),
    (damaged, r"run\.json is damaged"),
    (lambda at: (at / RUN / "task-1.pt").unlink(), r"task-1\.pt, the network after 1 tasks, is"),
    (lambda at: (at / RUN).rename((at / RUN).with_name("seed-7")), "is of the run model/order-0/s"),
    (another_output, "output=0, head=None, run"),
]


@pytest.mark.parametrize(("change", "said"), RECORDINGS)
def test_recordings(tmp_path, change, said):
    recorder(tmp_path / "rec").after_task(1)
    read_recording(tmp_path / "rec")
    change(tmp_path / "rec")
    with one_sentence(said):
        read_recording(tmp_path / "rec")
