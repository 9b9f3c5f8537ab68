"""Each mistake with files, states, recorders and recordings is told in one sentence."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.examples import Examples
from probe.record.checkpoints import Checkpoints
from probe.record.recorder import Recorder
from probe.record.recording import load_data, read_recording
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

# A pattern, which files there are, and what is said of it.
PATTERNS = {
    "no file": (P, ["er/a.pt", "er/b.pt", "er/c.pt", "er/d.pt", "er/e.pt"], "a.pt, b.pt, c.pt and"),
    "no folder": ("nowhere/{task}.pt", [], r"looked in .*nowhere, which is no folder"),
    "an unknown field": ("x{sed}-{task}.pt", EVERY, "unknown field .* did you mean 'seed'"),
    "no task": ("{learner}/seed{seed}-task1.pt", EVERY, r"lacks \{task\}"),
    "fields that touch": ("{seed}{task}", EVERY, "with some text between"),
    "an empty pattern": ("", EVERY, "name the files"),
    "two files for one place": (P, [*EVERY, "er/seed00-task01.pt"], "of the same run and task"),
    "two files of two learners": ("{learner}/{learner}-{task}", ["a/b-1"], "two values for one"),
    "a step is missing": (P, EVERY[1:], "er/order-0/seed-0 has no checkpoint after 1 tasks"),
    "a run is missing": (P, EVERY[:6], "no checkpoints of ft/order-0/seed-1"),
}


@pytest.mark.parametrize(("pattern", "there", "said"), PATTERNS.values(), ids=PATTERNS)
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


def saved(folder, content):
    torch.save(content, folder / "a.pt")
    return folder / "a.pt"


def raw(folder, content):
    (folder / "a.pt").write_bytes(content)
    return folder / "a.pt"


class Hostile:
    """Would make a file when it is unpickled."""

    def __reduce__(self):
        return open, ("hostile-was-here", "w")


STATES = {
    "absent": (lambda at: at / "none.pt", r"none\.pt cannot be read \(No such file"),
    "empty": (lambda at: raw(at, b""), r"a\.pt is empty: write it with torch\.save"),
    "text": (lambda at: raw(at, b"weights: 1\n"), "damaged, or no file of torch"),
    "hostile": (lambda at: saved(at, Hostile()), "could run code"),
    "a tensor": (lambda at: saved(at, torch.ones(2)), "but an object of type Tensor"),
    "no tensors": (lambda at: saved(at, {"epoch": 3, "loss": 0.1}), "but a table of epoch, loss"),
    "sparse": (lambda at: saved(at, {"a": torch.ones(2).to_sparse()}), "expected a plain tensor"),
}


@pytest.mark.parametrize(("made", "said"), STATES.values(), ids=STATES)
def test_states(tmp_path, monkeypatch, made, said):
    monkeypatch.chdir(tmp_path)
    with one_sentence(said):
        load_state(made(tmp_path))
    assert not (tmp_path / "hostile-was-here").exists()


FITS = {
    "shape": (
        network().state_dict() | {"0.bias": torch.ones(3)},
        r"task 1 does not fit the model: it has 0.bias of shape \(3,\), in the model \(16,\); give",
    ),
    "all": (
        {f"x{n}": torch.ones(1) for n in range(9)},
        "it lacks 0.weight, 0.bias, .* more, has x0, x1, x2 and 6 more, which the model has not",
    ),
}


@pytest.mark.parametrize(("state", "said"), FITS.values(), ids=FITS)
def test_states_of_another_network(state, said):
    model = network()
    before = {name: one.clone() for name, one in model.state_dict().items()}
    with one_sentence(said):
        fit_state(model, state, "task 1")
    assert all(torch.equal(before[name], one) for name, one in model.state_dict().items())


class WithExtra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        pass


TEST = examples(60, 1)
RECORDERS = {
    "no model": ({"model": nn.Linear}, "must be an instance of torch.nn.Module"),
    "no tensors": ({"model": WithExtra(8, 6)}, "has dict under '_extra_state'"),
    "too few outputs": ({"model": nn.Linear(8, 4)}, r"expected one logit per class: \(2, 6\)"),
    "other inputs": ({"model": nn.Linear(7, 6)}, "the model raised RuntimeError"),
    "no call": ({"call": 3}, "call= must be a function"),
    "a class outside": ({"tasks": [[0, 1], [2, 3], [4, 6]]}, "are outside 0..5"),
    "a task without classes": ({"tasks": [[0, 1, 2, 3, 4, 5], []]}, "have no classes"),
    "no data": ({"test": 3}, "test: the data are of type int"),
    "no examples": ({"test": TEST.of_classes([])}, "test holds no examples"),
    "of a task": ({"test": TEST.of_classes([0, 1, 4, 5])}, "no examples of task 2"),
    "NaN": ({"test": Examples(TEST.x / 0 * 0, TEST.y)}, "has NaN or Inf"),
    "train of another kind": ({"train": Examples(torch.ones(6, 3), torch.arange(6))}, "of train"),
    "a name": ({"learner": "a/b"}, "learner is a name of letters"),
    "a seed": ({"seed": -1}, "seed must be a whole number"),
    "a batch of none": ({"batch_size": 0}, "batch_size must be a whole number, 1 or more"),
}


def recorder(folder, **changes):
    given = {"model": network(), "test": TEST, "tasks": TASKS, **changes}
    return Recorder(folder, **given)


@pytest.mark.parametrize(("changes", "said"), RECORDERS.values(), ids=RECORDERS)
def test_recorders(tmp_path, changes, said):
    with one_sentence(said):
        recorder(tmp_path / "rec", **changes)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("learned", [4, True])
def test_numbers_of_tasks(tmp_path, learned):
    with one_sentence("tasks"):
        recorder(tmp_path).after_task(learned)


BESIDE = {
    "other data": ({"train": examples(66)}, "holds other train data"),
    "other test data": ({"test": examples(66, 1), "seed": 1, "train": examples()}, "other test"),
    "other test data of a run": ({"test": examples(66, 1)}, "with other test examples"),
    "another order": ({"tasks": TASKS[::-1], "seed": 1}, "name another order of the tasks"),
    "other tasks": ({"tasks": [[0, 1, 2], [3, 4, 5]], "order": 1}, "share their tasks"),
}


@pytest.mark.parametrize(("changes", "said"), BESIDE.values(), ids=BESIDE)
def test_runs_beside_others(tmp_path, changes, said):
    recorder(tmp_path, train=examples()).after_task(1)
    with one_sentence(said):
        recorder(tmp_path, **changes)
    assert len(read_recording(tmp_path).R) == 1


RUN = "runs/model/order-0/seed-0"


def damaged(at):
    path = at / RUN / "run.json"
    path.write_bytes(path.read_bytes().replace(b'"rows"', b'"sowr"'))


RECORDINGS = {
    "no folder": (shutil.rmtree, "is no folder"),
    "no recording": (lambda at: shutil.rmtree(at / "runs"), "has no recording in it"),
    "nothing recorded": (lambda at: (at / RUN / "run.json").unlink(), "has no network in it yet"),
    "damaged": (damaged, r"run\.json is damaged"),
    "a network is missing": (lambda at: (at / RUN / "task-2.pt").unlink(), r"task-2\.pt, the netw"),
    "renamed": (
        lambda at: (at / RUN).rename((at / RUN).with_name("seed-7")),
        "is of the run model/order-0/seed-0",
    ),
    "unfinished": (lambda at: recorder(at, seed=1).after_task(1), "no checkpoint after 2 tasks"),
    "another output": (
        lambda at: [
            recorder(at, seed=1, output=0, call=lambda m, x: (m(x),)).after_task(t) for t in (1, 2)
        ],
        "output=0, run",
    ),
}


@pytest.mark.parametrize(("change", "said"), RECORDINGS.values(), ids=RECORDINGS)
def test_recordings(tmp_path, change, said):
    rec = recorder(tmp_path / "rec")
    for learned in (1, 2):
        rec.after_task(learned)
    read_recording(tmp_path / "rec")
    change(tmp_path / "rec")
    with one_sentence(said):
        read_recording(tmp_path / "rec")


def test_data(tmp_path):
    with one_sentence("cannot be read"):
        load_data(tmp_path / "a.pt")
    with one_sentence("remove it, and record"):
        load_data(raw(tmp_path, b"text"))
