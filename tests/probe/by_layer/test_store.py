"""The results of a job: what was finished reads back bit for bit, and nothing else is believed."""

from __future__ import annotations

import hashlib
import json
import pickle
import tracemalloc
import zipfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix

from probe.by_layer.measurement import Measurement
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.errors import NotWritten
from probe.files import hashed, unhashed
from probe.metrics.counts import Counts
from probe.metrics.outcomes import Outcomes
from probe.metrics.task_counts import TaskCounts
from tests.scenarios.study.toy import (
    JOB,
    LEARNER,
    MEASURED,
    MODEL,
    OTHER_JOB,
    RECORD,
    RIGHT,
    SPOILT,
    assert_set_aside,
    damaged_versions,
    filled,
    replaced_by,
)
from tests.scenarios.tiny_run import contents

OTHER_RECORD = {"version": 1, "training": {"epochs": 2}}
DESCRIPTION = "step-1.checkpoint.json"


@pytest.fixture
def store(tmp_path):
    return filled(tmp_path / "run")


def other_code(store):
    return store.made_by_other_code(store.contents())


def same(state, other):
    return state.keys() == other.keys() and all(
        state[name].dtype == other[name].dtype and torch.equal(state[name], other[name])
        for name in state
    )


def test_what_was_kept_reads_back_bit_for_bit(store):
    assert store.read("step-1") == MEASURED
    assert store.finished() == {"step-1", "step-2"}
    saved = store.load_checkpoint("step-2")
    assert same({name: saved.model[name] for name in MODEL}, MODEL)
    assert saved.model["own"][0] == 2
    assert torch.signbit(saved.model["weight"])[0, 1]
    assert same(saved.learner, LEARNER)
    assert json.loads((store.folder / "fingerprint.json").read_bytes()) == RECORD
    assert quarantine_notes(store.root) == []


def test_what_is_not_there_is_none_and_no_fault(store):
    absent = Store(store.root, "no-job", RECORD)
    for own, part in ((store, "step-3"), (absent, "step-1")):
        assert own.read(part) is None
        assert own.load_checkpoint(part) is None
    assert (absent.finished(), absent.others(), other_code(absent)) == (set(), [], False)
    absent.clear()
    (store.root / "jobs" / "no-job").write_text("a file in a folder's place")
    assert (absent.read("step-1"), absent.finished()) == (None, set())
    assert quarantine_notes(store.root) == []


def test_nothing_is_written_where_the_run_directory_is_gone(store):
    store.root.rename(store.root.with_name("moved"))
    with pytest.raises(NotWritten, match="where it is now"):
        store.write("step-3", MEASURED)
    assert not store.root.exists()


# Measurements as JSON


@pytest.mark.parametrize("most", [0, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**63 - 1])
def test_any_counts_read_back(most):
    """The most that each kind of cell holds, and one more."""
    cells = np.random.default_rng(0).integers(0, most, (3, 4, 4), endpoint=True)
    cells[0, 0, 0] = most
    counts = {"single": tuple(map(Counts, cells)), "multi": (Counts(cells[0]),)}
    given = Measurement(counts=counts, right=RIGHT)
    measured = Measurement.of_record(json.loads(json.dumps(given.to_record())))
    assert measured == given
    assert {own.table.dtype for own in measured.counts["single"]} == {np.dtype(np.int64)}


@pytest.mark.parametrize("shared", [False, True])
def test_a_thousand_tasks_of_two_classes_are_scored_and_stored_without_a_dense_matrix(shared):
    """One job is 1,001 such steps of three heads; a matrix of 2,000 classes takes 32 MB."""
    draw, n = np.random.default_rng(0), 10
    tasks = [(0, 1) if shared else (2 * k, 2 * k + 1) for k in range(1000)]
    classes, true = 2 if shared else 2000, np.repeat(np.concatenate(tasks), n)
    guessed = draw.integers(0, classes, len(true))
    predicted = np.where(draw.random(len(true)) < 0.5, true, guessed)
    tracemalloc.start()
    try:
        counts = TaskCounts.of(true, predicted, [2 * n] * 1000, tasks, classes)
        right = {"all": Outcomes.of(true == predicted)}
        given = Measurement(counts={"all": counts.tables}, right=right)
        record = json.dumps(given.to_record())
        read = Measurement.of_record(json.loads(record)).counts["all"]
        again = TaskCounts(tasks=counts.tasks, tables=read)
        assert (
            again.accuracies().tolist()
            == np.mean((true == predicted).reshape(1000, -1), 1).tolist()
        )
        assert again.total == counts.total
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4e6
    assert len(record) < 1e8 / 1001 / 3
    expected = confusion_matrix(true, predicted, labels=range(classes))
    assert np.array_equal(again.total.table, expected)


@pytest.mark.parametrize(
    "change",
    [{"cells": "<u1AAAA"}, {"cells": "<u1"}, {"counts": "?"}, {"shape": [1, 1]}, {"shape": [3]}],
)
def test_counts_of_another_form_are_set_aside(store, change):
    """Their hash is right: somebody has made them."""
    path = store.folder / "step-1.json"
    record = json.loads(unhashed(path.read_bytes()))
    record["counts"]["single"] |= change
    path.write_bytes(hashed(json.dumps(record).encode()))
    assert store.read("step-1") is None
    assert_set_aside(store, "step-1.json")


def test_notes_read_back_and_without_any_there_is_no_key():
    noted = replace(MEASURED, notes=("it predicts class 3 for every test example", "ä\n"))
    assert Measurement.of_record(json.loads(json.dumps(noted.to_record()))) == noted
    # The files of versions that knew none are the same.
    assert list(MEASURED.to_record()) == ["counts", "spent", "right"]


# Of other fingerprints, of other code


def test_results_of_another_fingerprint_lie_beside_and_differ_in_what_is_named(store):
    other = Store(store.root, JOB, OTHER_RECORD, "code")
    assert (other.read("step-1"), other.load_checkpoint("step-1")) == (None, None)
    assert other.others() == ["training.epochs is 1 there and 2 here"]
    assert store.others() == []
    before = contents(store.folder)
    filled(store.root, JOB, OTHER_RECORD)
    assert store.others() == ["training.epochs is 2 there and 1 here"]
    other.clear()
    assert (other.finished(), store.others()) == (set(), [])
    assert contents(store.folder) == before


@pytest.mark.parametrize("content", [None, b"\xff", b"[" * 10**5, b'{"a": 1}'])
def test_others_whose_record_is_lost_or_corrupt_are_named_all_the_same(store, content):
    record = store.folder / "fingerprint.json"
    record.unlink() if content is None else record.write_bytes(content)
    other = Store(store.root, JOB, OTHER_RECORD)
    assert other.others() == [
        "what they were made with is not known, as fingerprint.json is lost or corrupt"
    ]
    assert store.read("step-1") == MEASURED
    store.sweep()
    assert "is not known" not in str(other.others())


def test_what_is_made_from_a_checkpoint_of_other_code_is_not_of_today_s_alone(store):
    """Even if nothing of the other code is left, and if the other code comes back."""
    store.save_checkpoint("step-1", {}, {})
    today = Store(store.root, JOB, RECORD, "today's code")
    today.continue_from(today.load_checkpoint("step-1"))
    today.write("step-2", MEASURED)
    for path in store.folder.glob("step-1*"):
        path.unlink()
    assert other_code(today)
    assert other_code(store)


def test_results_of_other_code_are_known_until_they_are_cleared(store):
    today = Store(store.root, JOB, RECORD, "other code")
    today.write("step-1", MEASURED)
    # One of them was made by today's.
    assert (other_code(store), other_code(today)) == (True, True)
    today.clear()
    assert [path.name for path in store.folder.iterdir()] == ["fingerprint.json"]
    today.save_checkpoint("step-1", {}, {})
    assert (other_code(today), other_code(store)) == (False, True)


# Corrupt files


@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.parametrize("name", ["step-1.json", "step-1.pt", "step-1.learner.pt", DESCRIPTION])
def test_a_corrupt_file_is_set_aside_and_a_checkpoint_whole(store, spoil, name):
    """With its description: without it the rest does not count."""
    spoil(store.folder / name)
    found = store.read("step-1"), store.load_checkpoint("step-1")
    lost = [name] if name == "step-1.json" else ["step-1.pt", "step-1.learner.pt", DESCRIPTION]
    assert [each is None for each in found] == [name == "step-1.json", name != "step-1.json"]
    assert_set_aside(store, *lost)
    store.write("step-1", MEASURED)
    store.save_checkpoint("step-1", MODEL, LEARNER)
    assert same(store.load_checkpoint("step-1").learner, LEARNER)
    assert store.read("step-1") == store.read("step-2") == MEASURED


def test_a_measurement_with_any_bit_flipped_or_cut_off_anywhere_is_set_aside(store):
    path = store.folder / "step-1.json"
    versions = damaged_versions(path.read_bytes(), 15)
    for damaged in versions:
        path.write_bytes(damaged)
        assert store.read("step-1") is None
    aside = [path for path in (store.root / "quarantine").iterdir() if path.suffix != ".txt"]
    # Nothing that was set aside before was replaced.
    assert sorted(path.read_bytes() for path in aside) == sorted(versions)
    assert len(quarantine_notes(store.root)) == len(versions)


@pytest.mark.parametrize("name", ["step-1.pt", "step-1.learner.pt", DESCRIPTION])
def test_every_flipped_bit_of_a_checkpoint_is_seen(store, name):
    """Also one that lies where there are no data, as between the members of an archive."""
    whole = {path: path.read_bytes() for path in store.folder.glob("step-1.*")}
    content = whole[store.folder / name]
    for damaged in damaged_versions(content, max(1, len(content) // 15)):
        for path, own in whole.items():
            path.write_bytes(damaged if path.name == name else own)
        assert store.load_checkpoint("step-1") is None


@pytest.mark.parametrize("content", [b"[]", b'{"sha256": 1}', b"[" * 10**5])
@pytest.mark.parametrize("change", [hashed, bytes])
def test_json_of_another_kind_is_set_aside(store, content, change):
    (store.folder / "step-1.json").write_bytes(change(content))
    assert store.read("step-1") is None
    assert_set_aside(store, "step-1.json")


@pytest.mark.parametrize(
    ("job", "record", "name"),
    [(JOB, RECORD, "step-2"), (JOB, OTHER_RECORD, "step-1"), (OTHER_JOB, OTHER_RECORD, "step-1")],
)
def test_a_valid_file_of_another_part_job_or_fingerprint_is_set_aside(store, job, record, name):
    for end in (".json", ".checkpoint.json", ".pt", ".learner.pt"):
        filled(store.root)
        other = filled(store.root, job, record)
        other.save_checkpoint(name, {"other": MODEL["weight"]}, {"other": MODEL["weight"]})
        replaced_by(other.folder / f"{name}{end}")(store.folder / f"step-1{end}")
        found = store.read("step-1"), store.load_checkpoint("step-1")
        assert [each is None for each in found] == [end == ".json", end != ".json"]


@pytest.mark.parametrize("name", ["step-1.json", DESCRIPTION, "step-1.pt"])
def test_what_cannot_be_read_is_set_aside(store, monkeypatch, name):
    read = Path.read_bytes

    def failing(path):
        if path == store.folder / name:
            raise OSError(5, "Input/output error")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    found = store.read("step-1"), store.load_checkpoint("step-1")
    assert [each is None for each in found] == [name == "step-1.json", name != "step-1.json"]
    assert not (store.folder / name).exists()
    assert any("cannot be read (Input/output error)" in n for n in quarantine_notes(store.root))


# Checkpoints that somebody else has written


class Calls:
    """A pickle that calls a function where it is loaded."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def as_a_script(content, path):
    """Write an archive with code in it, as torch.jit saves them, beside the pickle."""
    torch.save(content, path)
    with zipfile.ZipFile(path, "a") as archive:
        top = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{top}/constants.pkl", pickle.dumps(()))
        archive.writestr(f"{top}/code/__torch__.py", "import os\n")


SAVE = {
    "torch": torch.save,
    "pickle": lambda content, path: path.write_bytes(pickle.dumps(content)),
    "old torch": partial(torch.save, _use_new_zipfile_serialization=False),
    "script": as_a_script,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("save", SAVE)
@pytest.mark.parametrize("rebuilt", [False, True])
def test_no_code_of_a_checkpoint_is_run(store, tmp_path, save, rebuilt):
    """Even if whoever made it has written the right hash into its description."""
    call = Calls(Path.touch, tmp_path / "touched")
    if rebuilt:  # torch itself names this function in its checkpoints
        call = Calls(torch._utils._rebuild_parameter, call, False, None)
    for name, key in (("step-1.pt", "model"), ("step-1.learner.pt", "learner")):
        SAVE[save]({"weight": call}, store.folder / name)
        path, content = store.folder / DESCRIPTION, (store.folder / name).read_bytes()
        record = json.loads(unhashed(path.read_bytes()))
        record[key] = hashlib.sha256(content).hexdigest()
        path.write_bytes(hashed(json.dumps(record).encode()))
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            store.load_checkpoint("step-1")
        assert not (tmp_path / "touched").exists()
        filled(store.root)
    # A reader that trusts it does run it.
    with suppress(Exception):
        pickle.loads(pickle.dumps({"weight": call}))
    assert (tmp_path / "touched").exists()
