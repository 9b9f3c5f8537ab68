"""Checkpoints: bit for bit what was saved or nothing, and never a step of a pickle's code."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from scenarios.study.quarantine import notes
from scenarios.study.sealing import sealed

from tests.scenarios.study import toy_store
from tests.scenarios.study.toy_store import (
    JOB,
    LEARNER,
    MODEL,
    OTHER_JOB,
    SPOILT,
    assert_set_aside,
    filled,
    path_of,
)

SIDECAR = "step-1.checkpoint.json"


@pytest.fixture
def store(tmp_path):
    return filled(tmp_path / "run")


def same(state, other):
    return state.keys() == other.keys() and all(
        state[name].dtype == other[name].dtype and torch.equal(state[name], other[name])
        for name in state
    )


def test_checkpoints_read_back_bit_for_bit(store):
    saved = store.load_checkpoint(JOB, "step-2")
    assert same(saved.model, {**MODEL, "part": torch.tensor(2)})
    assert same(saved.learner, LEARNER)
    assert torch.signbit(saved.model["weight"])[0, 1]
    assert same(torch.load(path_of(store, "step-2.learner.pt"), weights_only=True), LEARNER)
    assert notes(store.root) == []


@pytest.mark.parametrize("name", ["step-1.pt", "step-1.learner.pt"])
def test_a_checkpoint_without_all_its_files_is_not_valid(store, name):
    path_of(store, name).unlink()
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, SIDECAR)
    assert name in notes(store.root)[0]
    assert store.load_checkpoint(JOB, "step-2") is not None


def test_a_checkpoint_without_its_description_is_not_finished(store):
    path_of(store, SIDECAR).unlink()
    assert store.load_checkpoint(JOB, "step-1") is None
    assert notes(store.root) == []


@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.parametrize("name", ["step-1.pt", "step-1.learner.pt", SIDECAR])
def test_a_checkpoint_that_is_not_as_it_was_written_is_set_aside(store, name, spoil):
    before = store.load_checkpoint(JOB, "step-1")
    spoil(path_of(store, name))
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, *{name, SIDECAR})
    store.save_checkpoint(JOB, "step-1", before.model, before.learner)
    after = store.load_checkpoint(JOB, "step-1")
    assert same(after.model, before.model)
    assert same(after.learner, before.learner)


@pytest.mark.parametrize("name", ["step-1.pt", "step-1.learner.pt", SIDECAR])
def test_every_flipped_bit_is_seen(store, name):
    """Also one that lies where there are no data, as between the members of an archive."""
    path, sidecar = path_of(store, name), path_of(store, SIDECAR)
    whole, description = path.read_bytes(), sidecar.read_bytes()
    places = range(0, len(whole), max(1, len(whole) // 80))
    for place in places:
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        )
        assert store.load_checkpoint(JOB, "step-1") is None
        sidecar.write_bytes(description)
    assert len(notes(store.root)) == len({name, SIDECAR}) * len(places)
    path.write_bytes(whole)
    assert store.load_checkpoint(JOB, "step-1") is not None


@pytest.mark.parametrize(
    ("job", "source", "target"),
    [
        (OTHER_JOB, "step-1.pt", "step-1.pt"),
        (JOB, "step-2.pt", "step-1.pt"),
        (JOB, "step-1.pt", "step-1.learner.pt"),
        (JOB, "step-1.learner.pt", "step-1.pt"),
        (OTHER_JOB, SIDECAR, SIDECAR),
        (JOB, "step-2.checkpoint.json", SIDECAR),
        (JOB, "step-1.json", SIDECAR),
    ],
)
def test_a_valid_file_in_the_place_of_another_is_set_aside(store, job, source, target):
    toy_store.swapped_with(source, job)(path_of(store, target))
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, *{target, SIDECAR})


class Calls:
    """A pickle that calls a function where it is loaded."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def by_torch(content, path):
    torch.save(content, path)


def by_pickle(content, path):
    path.write_bytes(pickle.dumps(content))


def by_old_torch(content, path):
    torch.save(content, path, _use_new_zipfile_serialization=False)


def as_a_script(content, path):
    """An archive with code in it, as torch.jit saves them, beside the pickle."""
    torch.save(content, path)
    with zipfile.ZipFile(path, "a") as archive:
        top = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{top}/constants.pkl", pickle.dumps(()))
        archive.writestr(f"{top}/code/__torch__.py", "import os\n")


CALLS = {
    "touch": lambda path: Calls(Path.touch, path),
    "system": lambda path: Calls(os.system, f"touch {path}"),
    "eval": lambda path: Calls(eval, f"open({str(path)!r}, 'w').close()"),
    "exec": lambda path: Calls(exec, f"open({str(path)!r}, 'w').close()"),
    "open": lambda path: Calls(open, str(path), "w"),
    # What torch itself names in its checkpoints, in places where it does not belong.
    "rebuilt": lambda path: Calls(
        torch._utils._rebuild_parameter, Calls(Path.touch, path), False, None
    ),
    "state": lambda path: Calls(
        torch._utils._rebuild_parameter_with_state,
        torch.zeros(1),
        False,
        None,
        {"x": Calls(Path.touch, path)},
    ),
    "load": lambda path: Calls(torch.load, str(path) + ".pt"),
}


def resealed(store, name):
    """Write the description that a file would have if it had been saved: the hash is right."""
    key = "learner" if "learner" in name else "model"
    path, content = path_of(store, SIDECAR), path_of(store, name).read_bytes()
    record = json.loads(path.read_bytes())
    del record["sha256"]
    digest = hashlib.sha256(content).hexdigest()
    record[key] = {"bytes": len(content), "sha256": digest}
    path.write_bytes(sealed(json.dumps(record).encode()))


@pytest.mark.parametrize("name", ["step-1.pt", "step-1.learner.pt"])
@pytest.mark.parametrize("save", [by_torch, by_pickle, by_old_torch, as_a_script])
@pytest.mark.parametrize("call", CALLS)
def test_a_hostile_checkpoint_is_set_aside_and_not_run(store, tmp_path, name, save, call):
    """Even if whoever made it has written the right hash into its description."""
    save({"weight": CALLS[call](tmp_path / "touched")}, path_of(store, name))
    resealed(store, name)
    assert store.load_checkpoint(JOB, "step-1") is None
    assert not (tmp_path / "touched").exists()
    assert_set_aside(store, name, SIDECAR)


@pytest.mark.parametrize("call", sorted(CALLS.keys() - {"load"}))
def test_they_are_hostile_indeed(store, tmp_path, call):
    """A reader that trusts them runs them."""
    save = {"weight": CALLS[call](tmp_path / "touched")}
    content = io.BytesIO(pickle.dumps(save))
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pickle.load(content)["weight"].close()
    assert (tmp_path / "touched").exists()


class Rebuilt:
    """A tensor whose pickle claims another size, stride or offset than its memory has."""

    def __init__(self, size, stride, offset=0):
        self.claim = offset, size, stride

    def __reduce_ex__(self, protocol):
        function, (storage, *_) = torch.zeros(4)._reduce_ex_internal(2)
        return function, (storage, *self.claim, False, {})


OUTSIDE = {
    "huge": Rebuilt((10**13,), (0,)),
    "larger": Rebuilt((1000,), (1,)),
    "before": Rebuilt((4,), (1,), -100),
    "behind": Rebuilt((4,), (1,), 2**40),
    "back": Rebuilt((4,), (-1,)),
}


@pytest.mark.parametrize("claim", OUTSIDE)
def test_a_tensor_that_claims_other_memory_is_set_aside(store, claim):
    torch.save({"weight": OUTSIDE[claim]}, path_of(store, "step-1.pt"))
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, "step-1.pt", SIDECAR)


@pytest.mark.parametrize(
    "content",
    [
        [torch.zeros(1)],
        {"weight": 3},
        {1: torch.zeros(1), "b": torch.zeros(1)},
        {"weight": torch.eye(2).to_sparse()},
        torch.zeros(2),
    ],
    ids=lambda content: type(content).__name__,
)
@pytest.mark.parametrize("again", [False, True])
def test_what_holds_no_plain_tensors_is_set_aside(store, content, again):
    torch.save(content, path_of(store, "step-1.pt"))
    if again:
        resealed(store, "step-1.pt")
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, "step-1.pt", SIDECAR)
