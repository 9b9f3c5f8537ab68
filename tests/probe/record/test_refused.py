"""Mistakes with files, states, recorders and recordings are refused in one sentence each.

`tests/bad_input` has those that a user of the command line can make.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from torch import nn

from probe.errors import InputError
from probe.examples import Examples
from probe.record.checkpoints import Checkpoints
from probe.record.recorder import Recorder
from probe.record.recording import read_recording
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
        (P, EVERY[:6], "no checkpoints of ft/order-0/seed-1"),
    ],
)
def test_patterns(tmp_path, monkeypatch, pattern, there, said):
    written(tmp_path, there)
    monkeypatch.chdir(tmp_path)
    with one_sentence(said):
        Checkpoints.find(pattern)


class WithExtra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        pass


TEST = examples(60, 1)
RECORDERS = [
    ({"model": WithExtra(8, 6)}, "has dict under '_extra_state'"),
    ({"model": nn.Linear(8, 4)}, r"expected one logit per class: \(2, 6\)"),
    ({"tasks": [[0, 1, 2, 3, 4, 5], []]}, "have no classes"),
    ({"test": TEST.of_classes([0, 1, 4, 5])}, "no examples of task 2"),
    ({"test": Examples(TEST.x / 0 * 0, TEST.y)}, "has NaN or Inf"),
    ({"learner": "a/b"}, "learner is a name of 80 letters, digits"),
    ({"batch_size": 0}, "batch_size must be a whole number, 1 or more"),
]


def recorder(folder, **changes):
    return Recorder(folder, **{"model": network(), "test": TEST, "tasks": TASKS, **changes})


@pytest.mark.parametrize(("changes", "said"), RECORDERS)
def test_recorders(tmp_path, changes, said):
    with one_sentence(said):
        recorder(tmp_path / "rec", **changes)
    assert not list(tmp_path.rglob("*.json"))


RUN = "runs/model/order-0/seed-0"


def damaged(at):
    path = at / RUN / "run.json"
    path.write_bytes(path.read_bytes().replace(b'"rows"', b'"sowr"'))


def another_output(at):
    tuples = {"output": 0, "call": lambda model, x: (model(x),)}
    recorder(at, seed=1, **tuples).after_task(1)


RECORDINGS = [
    (lambda at: (at / RUN / "run.json").unlink(), "has no network in it yet"),
    (damaged, r"run\.json is damaged"),
    (lambda at: (at / RUN / "task-1.pt").unlink(), r"task-1\.pt, the network after 1 tasks, is"),
    (another_output, "output=0, head=None, run"),
]


@pytest.mark.parametrize(("change", "said"), RECORDINGS)
def test_recordings(tmp_path, change, said):
    recorder(tmp_path / "rec").after_task(1)
    read_recording(tmp_path / "rec")
    change(tmp_path / "rec")
    with one_sentence(said):
        read_recording(tmp_path / "rec")
