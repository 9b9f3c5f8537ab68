"""The results of a job: what was finished reads back bit for bit, and nothing else is believed."""

import itertools
import math
import os
import random
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from probe.by_layer.measurement import (
    Cost,
    Key,
    Measurement,
    TrainingCost,
    from_arrays,
    to_arrays,
)
from probe.by_layer.network_source import JobNetworks
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.errors import NotWritten
from probe.tasks import TestExamples
from tests.scenarios.study.toy import (
    FIRST,
    JOB,
    LAST,
    LEARNER,
    MEASURED,
    MODEL,
    OTHER_JOB,
    RECORD,
    assert_set_aside,
    filled,
    same,
    truncated,
)
from tests.scenarios.tiny_run import contents

OTHER_RECORD = {"version": 1, "training": {"epochs": 2}}
FILE, CHECKPOINT = "predictions.npz", "after-1.pt"


@pytest.fixture
def store(tmp_path):
    return filled(tmp_path / "run")


def equal(state, other):
    return state.keys() == other.keys() and all(
        state[name].dtype == other[name].dtype and torch.equal(state[name], other[name])
        for name in state
    )


def is_whole(store):
    """Whether the measurements and the first checkpoint are those of `filled`."""
    measurements, checkpoint = store.measurements(), store.load_checkpoint(1)
    assert all(same(MEASURED, found) for found in measurements.values())
    assert checkpoint is None or equal(checkpoint.learner, LEARNER)
    return measurements.keys() == {FIRST, LAST}, checkpoint is not None


def test_what_was_stored_reads_back_bit_for_bit(store):
    assert sorted(path.name for path in store.folder.iterdir()) == [
        "after-1.pt",
        "after-2.pt",
        FILE,
    ]
    assert is_whole(store) == (True, True)
    assert store.finished() == {FIRST, LAST}
    checkpoint = store.load_checkpoint(2)
    assert equal({name: checkpoint.model[name] for name in MODEL}, MODEL)
    assert checkpoint.model["own"][0] == 2
    assert torch.signbit(checkpoint.model["weight"])[0, 1]
    assert quarantine_notes(store.root) == []


def test_numpy_and_torch_alone_read_the_files(store):
    with np.load(store.folder / FILE) as arrays:
        rows = zip(
            arrays["measurement"],
            arrays["head"],
            arrays["predicted"],
            strict=True,
        )
        found = {(int(i), str(head)): row.tolist() for i, head, row in rows}
        expected = {name: row.tolist() for name, row in MEASURED.predicted.items()}
        assert found == {
            (i, name): row for i in (0, 1) for name, row in expected.items()
        }
        assert arrays["predicted"].dtype == arrays["label"].dtype == np.uint16
        assert arrays["task"].dtype == np.uint8
        assert arrays["tasks_seen"].tolist() == [1, 2]
    state = torch.load(store.folder / CHECKPOINT, weights_only=True)["state_dict"]
    assert equal({name: state[name] for name in MODEL}, MODEL)


@pytest.mark.parametrize(
    "most",
    [
        0,
        1,
        255,
        256,
        2**16 - 1,
        2**16,
    ],
)
def test_classes_are_in_the_smallest_integers_that_hold_them(most):
    test = TestExamples(labels=np.array([0, most]), tasks=np.array([0, 0]))
    given = Measurement(test=test, predicted={"all": np.array([most, 0])})
    arrays = to_arrays({FIRST: given})
    assert same(given, from_arrays(arrays)[FIRST], code="")
    assert arrays["predicted"].itemsize == next(
        n for n in (1, 2, 4) if most < 2 ** (8 * n)
    )


def test_what_is_not_there_is_none_and_no_fault(store):
    absent = Store(store.root, "no-job", RECORD)
    assert (store.load_checkpoint(3), absent.load_checkpoint(1)) == (None, None)
    absent.finish()
    absent.clear()
    (store.root / "jobs" / "no-job").write_text("a file in a folder's place")
    assert (absent.measurements(), absent.finished(), absent.others()) == (
        {},
        set(),
        [],
    )
    assert (absent.load_checkpoint(1), absent.made_by_other_code()) == (None, False)
    assert quarantine_notes(store.root) == []


def test_nothing_is_written_where_the_run_directory_is_gone(store):
    store.root.rename(store.root.with_name("moved"))
    with pytest.raises(NotWritten, match="where it is now"):
        store.write(Key(3), MEASURED)
    assert not store.root.exists()


# Files are merged while a job runs


@pytest.mark.parametrize("finished", [0, 5])
@pytest.mark.parametrize("seed", range(2))
def test_a_job_has_few_files_at_any_time_and_each_measurement_in_one(
    tmp_path, seed, finished
):
    """Seven of a size, whatever the order of M measurements; or it was finished before."""
    store, draw = (
        Store(
            tmp_path,
            "job",
            RECORD,
            "code",
        ),
        random.Random(seed),
    )
    keys = [Key(t, feature) for t in range(30) for feature in ("", "conv1", "conv2")]
    draw.shuffle(keys)
    for count, key in enumerate(keys, 1):
        store.write(key, MEASURED)
        if count == finished:
            store.finish()
        assert store.finished() == set(keys[:count])
        assert (
            len(list(store.folder.iterdir()))
            <= 7 * math.ceil(math.log(count + 1, 8)) + 1
        )
    assert store.measurements().keys() == set(keys)
    store.finish()
    assert [path.name for path in store.folder.iterdir()] == [FILE]
    assert store.measurements().keys() == set(keys)


def test_whatever_is_killed_or_fails_in_a_merge_nothing_is_lost(tmp_path, monkeypatch):
    """Before each change of a file in turn; the next process merges what it finds."""

    class Killed(BaseException):
        pass

    keys, names = [Key(t) for t in range(12)], ("replace", "unlink")
    for deadly in itertools.count(1):
        store, left = (
            Store(
                tmp_path,
                f"job-{deadly}",
                RECORD,
                "code",
            ),
            itertools.count(1),
        )

        def dying(do, *arguments, left=left, deadly=deadly, **flags):
            if next(left) >= deadly:
                raise Killed
            return do(*arguments, **flags)

        done = set()
        with monkeypatch.context() as patch, suppress(Killed):
            for name in names:
                patch.setattr(os, name, partial(dying, getattr(os, name)))
            for key in keys:
                store.write(key, MEASURED)
                done.add(key)
            store.finish()
            break
        assert (
            store.measurements().keys() - done <= {keys[len(done)]}
            if len(done) < 12
            else True
        )
        assert store.finished() >= done
        for key in keys[len(done) :]:
            store.write(key, MEASURED)
            assert len(list(store.folder.glob("*.npz"))) <= 15
        store.finish()
        store.sweep()
        assert store.measurements().keys() == set(keys)
        assert [path.name for path in store.folder.iterdir()] == [FILE]
    assert deadly > 20


def test_two_processes_that_do_the_same_job_lose_nothing(tmp_path, monkeypatch):
    """Each merges what the other has written, at the moment when it reads a file."""
    one, other = (
        Store(
            tmp_path,
            "job",
            RECORD,
            "code",
        )
        for _ in range(2)
    )
    keys, read, begun = [Key(t) for t in range(16)], Path.read_bytes, set()
    late = iter(keys)

    def reading(path):
        if path.suffix == ".npz" and (key := next(late, None)) and key not in begun:
            begun.add(key)
            other.write(key, MEASURED)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    for key in keys:
        one.write(key, MEASURED)
    assert len(begun) > 8
    assert one.measurements().keys() == set(keys)
    other.finish()
    assert other.finished() == one.measurements().keys() == set(keys)
    assert quarantine_notes(tmp_path) == []


# Of other fingerprints, of other code


def test_results_of_another_fingerprint_lie_beside_and_differ_in_what_is_named(store):
    other = Store(
        store.root,
        JOB,
        OTHER_RECORD,
        "code",
    )
    assert (other.measurements(), other.load_checkpoint(1)) == ({}, None)
    assert other.others() == ["training.epochs is 1 there and 2 here"]
    assert store.others() == []
    before = contents(store.folder)
    filled(store.root, JOB, OTHER_RECORD)
    assert store.others() == ["training.epochs is 2 there and 1 here"]
    other.clear()
    assert (other.finished(), store.others()) == (set(), [])
    assert contents(store.folder) == before


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[" * 10**5,
        '{"a": 1}',
        None,
    ],
)
def test_others_whose_record_is_corrupt_are_named_all_the_same(store, record):
    path = store.folder / FILE
    if record is None:
        truncated(path)
    else:
        rewritten(path, record=np.array(record))
    [difference] = Store(store.root, JOB, OTHER_RECORD).others()
    assert "from an earlier version" in difference


@pytest.mark.parametrize("stuck", [False, True])
def test_the_cost_of_a_training_comes_back_from_a_checkpoint(stuck):
    cost = TrainingCost(cost=Cost(*range(7)), seconds=1.5, stuck=stuck)
    assert TrainingCost.of_state(cost.to_state()) == cost


MAKE = [lambda s: s.write(FIRST, MEASURED), lambda s: s.save_checkpoint(1, {}, {})]


def resumed(store):
    store.continue_from(store.load_checkpoint(1))


def resumed_offline(store):
    networks = SimpleNamespace(results=store, job=SimpleNamespace(last=1))
    model = SimpleNamespace(load_state_dict=dict)
    JobNetworks._train_offline(networks, model)


@pytest.mark.parametrize("resume", [resumed, resumed_offline])
@pytest.mark.parametrize("make", MAKE)
def test_what_is_made_from_a_checkpoint_of_other_code_is_not_of_today_s_alone(
    store, resume, make
):
    """Even if nothing of the other code is left, and if the other code comes back."""
    cost = TrainingCost(cost=Cost(*range(7)), seconds=1.0)
    store.save_checkpoint(1, MODEL, cost.to_state())
    today = Store(
        store.root,
        JOB,
        RECORD,
        "today's code",
    )
    resume(today)
    for path in store.folder.iterdir():
        path.unlink()
    make(today)
    assert today.made_by_other_code()
    assert store.made_by_other_code()


@pytest.mark.parametrize("make", MAKE)
def test_results_of_other_code_are_known_until_they_are_cleared(store, make):
    today = Store(
        store.root,
        JOB,
        RECORD,
        "other code",
    )
    make(today)
    # One of them was made by today's.
    assert (store.made_by_other_code(), today.made_by_other_code()) == (True, True)
    today.clear()
    assert list(store.folder.iterdir()) == []
    make(today)
    assert (today.made_by_other_code(), store.made_by_other_code()) == (False, True)


# Corrupt files


def rewritten(path, **arrays):
    """Write a file of predictions again with other arrays: its checksums are right."""
    with np.load(path) as file:
        np.savez_compressed(path, **{**file, **arrays})


def emptied(path):
    path.write_bytes(b"")


def made_a_folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("")


@pytest.mark.parametrize("spoil", [truncated, emptied, made_a_folder])
@pytest.mark.parametrize("name", [FILE, CHECKPOINT])
def test_a_corrupt_file_is_named_set_aside_and_written_again(store, spoil, name):
    spoil(store.folder / name)
    before = contents(store.root)
    assert store.contents(checkpoints=True)[1] == {name}
    assert contents(store.root) == before
    assert is_whole(store) == (name != FILE, name != CHECKPOINT)
    assert_set_aside(store, name)
    filled(store.root)
    assert is_whole(store) == (True, True)


@pytest.mark.parametrize("name", [FILE, CHECKPOINT])
def test_with_any_bit_flipped_or_cut_off_anywhere_it_is_read_intact_or_set_aside(
    store, name
):
    """A few bits of a zip file say nothing of its content, as the time of a member.

    Some of its directory, at the end, are looked at only when it is read.
    """
    path, intact = store.folder / name, 0
    content = path.read_bytes()
    directory = content.find(b"PK\1\2")
    at = [k * len(content) // 150 for k in range(150)]
    flips = [
        content[:k] + bytes([content[k] ^ 1 << k % 8]) + content[k + 1 :] for k in at
    ]
    versions = flips + [content[:k] for k in at]
    for damaged in versions:
        path.write_bytes(damaged)
        corrupt = store.contents(checkpoints=True)[1]
        read = is_whole(store)[name == CHECKPOINT]
        assert read == path.exists()
        is_in_directory = damaged.startswith(content[:directory])
        assert read == (not corrupt) or (name == CHECKPOINT and is_in_directory)
        intact += read
    assert intact < len(flips) / 2
    aside = [
        path for path in (store.root / "quarantine").iterdir() if path.suffix != ".txt"
    ]
    # Nothing that was set aside before was replaced.
    assert len(quarantine_notes(store.root)) == len(aside) == len(versions) - intact


@pytest.mark.parametrize("during", ["write", "finish"])
def test_a_file_that_is_corrupt_when_it_is_merged_is_set_aside(tmp_path, during):
    store = Store(
        tmp_path,
        "job",
        RECORD,
        "code",
    )
    first, *others = [Key(t) for t in range(8 if during == "write" else 2)]
    store.write(first, MEASURED)
    [path] = store.folder.iterdir()
    truncated(path)
    for key in others:  # of seven the last merges all
        store.write(key, MEASURED)
    if during == "finish":
        store.finish()
    assert_set_aside(store, path.name)
    assert store.finished() == store.measurements().keys() == set(others)


VALUES = '{"values": {"dead": 7}}', '{"values": {"units": -3}}'
DETAILS = "[]", "[" * 10**5, '{"cost": 1}', *VALUES


@pytest.mark.parametrize(
    "arrays",
    [
        {"predicted": np.zeros((3, 5), dtype=np.uint8)},
        {"task": np.zeros(4, dtype=np.uint8)},
        {"measurement": np.array([0, 0, 1, 9])},
        *({"details": np.array([text] * 2)} for text in DETAILS),
        {"feature": np.array(["", None], dtype=object)},
    ],
)
def test_predictions_of_another_form_are_set_aside(store, arrays):
    """Their checksums are right: somebody has made them."""
    rewritten(store.folder / FILE, **arrays)
    assert is_whole(store) == (False, True)
    assert_set_aside(store, FILE)


@pytest.mark.parametrize(("job", "record"), [(JOB, OTHER_RECORD), (OTHER_JOB, RECORD)])
@pytest.mark.parametrize("name", [FILE, CHECKPOINT])
def test_a_valid_file_of_another_job_or_fingerprint_is_set_aside(
    store, job, record, name
):
    other = filled(store.root, job, record | {"job": job})
    shutil.copy(other.folder / name, store.folder / name)
    assert is_whole(store) == (name != FILE, name != CHECKPOINT)
    assert_set_aside(store, name)


def test_a_pipe_in_place_of_a_file_is_corrupt_and_is_not_waited_for(store):
    for name in (FILE, CHECKPOINT):
        (store.folder / name).unlink()
        os.mkfifo(store.folder / name)
    assert store.contents(checkpoints=True)[1] == {FILE, CHECKPOINT}
    assert store.finished() == set()
