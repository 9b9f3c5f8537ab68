"""The run directory: what was finished reads back bit for bit, and nothing else is believed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import pytest
from scenarios.study.quarantine import notes
from scenarios.study.sealing import read_sealed, sealed

from scenarios.study.store import FORMAT, Measurement, Store
from tests.faults.small import as_nobody, open_to_all
from tests.scenarios.study import toy_store
from tests.scenarios.study.toy_store import (
    COST,
    COUNTS,
    JOB,
    MEASURED,
    OTHER_JOB,
    SPOILT,
    assert_set_aside,
    filled,
    path_of,
)


@pytest.fixture
def store(tmp_path):
    return filled(tmp_path / "run")


def test_measurements_read_back_as_they_were_written(store):
    assert store.read(JOB, "step-1") == MEASURED
    assert list(store.read(JOB, "step-1").counts) == ["single", "multi", "all"]
    assert store.read(OTHER_JOB, "step-1").spent is None
    assert store.finished(JOB) == {"step-1", "step-2"}
    assert notes(store.root) == []


def test_what_is_not_there_is_none_and_no_fault(store):
    assert store.read(JOB, "step-3") is None
    assert store.read("no-job", "step-1") is None
    assert store.load_checkpoint(JOB, "step-3") is None
    assert store.finished("no-job") == set()
    path_of(store, "no-job", "").write_text("a file in a folder's place")
    assert store.read("no-job", "step-1") is None
    assert store.finished("no-job") == set()
    assert notes(store.root) == []


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_part_that_is_not_as_it_was_written_is_set_aside(store, tmp_path, spoil):
    path = path_of(store, "step-1.json")
    spoil(path)
    outside = {file: file.read_bytes() for file in tmp_path.glob("elsewhere*")}
    assert store.read(JOB, "step-1") is None
    assert_set_aside(store, "step-1.json")
    assert {file: file.read_bytes() for file in tmp_path.glob("elsewhere*")} == outside
    assert store.read(JOB, "step-2") == MEASURED
    store.write(JOB, "step-1", MEASURED)
    assert store.read(JOB, "step-1") == MEASURED


def test_a_part_truncated_anywhere_or_with_any_bit_flipped_is_refused(store):
    path = path_of(store, "step-1.json")
    whole = path.read_bytes()
    places = range(0, len(whole), 3)
    flipped = (whole[:k] + bytes([whole[k] ^ 1 << k % 8]) + whole[k + 1 :] for k in places)
    for damaged in (*flipped, *(whole[:k] for k in places)):
        path.write_bytes(damaged)
        assert store.read(JOB, "step-1") is None
        assert not path.exists()
    path.write_bytes(whole)
    assert store.read(JOB, "step-1") == MEASURED
    aside = (store.root / "quarantine").iterdir()
    kept = [path for path in aside if path.suffix != ".txt"]
    assert len(kept) == 2 * len(places)  # nothing that was set aside has replaced another


def test_a_huge_file_that_ends_as_it_should_is_not_read(store):
    """64 GB; only what the end says is looked at, and what does not start as it should is left."""
    path = path_of(store, "step-1.pt")
    toy_store.made_huge_with_its_end(path)
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, "step-1.pt", "step-1.checkpoint.json")


@pytest.mark.parametrize(
    "content",
    [b"[]", b"null", b"3", b'"sha256"', b"{}", b'{"sha256": 1}', b"\xff", b"[" * 10**5, b"NaN"],
)
def test_json_of_another_kind_is_set_aside(store, content):
    for number, written in enumerate((content, sealed(content)), 1):
        path_of(store, "step-1.json").write_bytes(written)
        assert store.read(JOB, "step-1") is None
        assert len(notes(store.root)) == number


@pytest.mark.parametrize(
    ("job", "name"),
    [
        (OTHER_JOB, "step-1.json"),
        (JOB, "step-2.json"),
        (JOB, "step-1.checkpoint.json"),
        (JOB, "step-1.pt"),
    ],
)
def test_a_valid_file_in_the_place_of_another_is_set_aside(store, job, name):
    toy_store.swapped_with(name, job)(path_of(store, "step-1.json"))
    assert store.read(JOB, "step-1") is None
    assert_set_aside(store, "step-1.json")


def test_a_part_of_another_study_is_set_aside(store):
    other = Store(store.root, "another identity")
    assert other.read(JOB, "step-1") is None
    assert other.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, "step-1.json", "step-1.checkpoint.json")


def test_a_part_of_another_format_is_set_aside(store, monkeypatch):
    monkeypatch.setattr("scenarios.study.store.FORMAT", FORMAT + 1)
    assert store.read(JOB, "step-1") is None
    assert store.load_checkpoint(JOB, "step-1") is None
    assert_set_aside(store, "step-1.json", "step-1.checkpoint.json")


def edited(path, **changes):
    """Return what a file holds, with changes and without its seal."""
    record = {**json.loads(path.read_bytes()), **changes}
    del record["sha256"]
    return json.dumps(record).encode()


EDITS = [{"format": FORMAT - 1}, {"counts": {}}, {"spent": None}, {"extra": 1}]


@pytest.mark.parametrize("changes", EDITS)
def test_a_part_edited_by_hand_is_set_aside(store, changes):
    path = path_of(store, "step-1.json")
    seal = path.read_bytes()[-79:]
    path.write_bytes(edited(path, **changes)[:-1] + seal)
    assert json.loads(path.read_bytes())["sha256"] in seal.decode()
    assert store.read(JOB, "step-1") is None
    assert_set_aside(store, "step-1.json")


NO_COUNTS = [[[1]], 3, {"all": [[1]]}, {"all": [[[-1]]]}, {"all": {}}, {"all": {"shape": [1]}}]
NOT_SPENT = [{}, 3, {"cost": {"ops": 1}, "seconds": 1.0}]
NOT_SPENT += [
    {"cost": {**asdict(COST), "ops": ops}, "seconds": 1.0}
    for ops in ("x", "1", 10**400, 2**63, -1, 1.0, 0.5, True, None, [1], float("nan"))
]
NOT_SPENT += [
    {"cost": asdict(COST), "seconds": seconds}
    for seconds in ("long", "1.0", -0.5, 10**400, float("nan"), float("inf"), True, None, [1.0])
]
ELSEWHERE = [{"job": f"../{JOB}"}, {"job": f"/{JOB}"}, {"part": "../step-1"}, {"part": None}]


@pytest.mark.parametrize(
    "changes",
    [*({"counts": c} for c in NO_COUNTS), *({"spent": s} for s in NOT_SPENT), *ELSEWHERE],
)
def test_what_is_sealed_but_no_measurement_is_set_aside(store, changes):
    path = path_of(store, "step-1.json")
    path.write_bytes(sealed(edited(path)))
    assert store.read(JOB, "step-1") == MEASURED
    assert store.holds(JOB, "step-1")
    path.write_bytes(sealed(edited(path, **changes)))
    assert not store.holds(JOB, "step-1")
    assert store.read(JOB, "step-1") is None
    assert_set_aside(store, "step-1.json")


@pytest.mark.parametrize(
    "spent",
    [
        {"cost": {**asdict(COST), "ops": 2**63 - 1, "stored_bytes": 0}, "seconds": 0.0},
        {"cost": asdict(COST), "seconds": 1},
        None,
    ],
)
def test_the_most_and_the_least_that_can_be_spent_is_believed(store, spent):
    path = path_of(store, "step-1.json")
    path.write_bytes(sealed(edited(path, spent=spent)))
    measured = store.read(JOB, "step-1").spent
    assert (asdict(measured) if measured else None) == spent
    assert store.holds(JOB, "step-1")


@pytest.mark.parametrize(
    ("part", "heads", "whole"),
    [
        ("step-1", ("single", "multi", "all"), True),
        ("step-1", ("multi",), True),
        ("step-1", ("single",), False),
        ("step-1", ("multi", "all"), False),
        ("step-1", ("single", "multi", "all", "none"), False),
        ("feature-conv1", ("single",), True),
        ("feature-conv1", ("multi",), False),
        ("feature-conv1", ("single", "multi", "all"), False),
    ],
)
def test_a_part_has_the_heads_that_it_was_measured_under(store, part, heads, whole):
    """Those of a step, of one by a learner that is told the task, and of a retrained model."""
    store.write(JOB, part, Measurement(counts=dict.fromkeys(heads, COUNTS["single"])))
    assert store.holds(JOB, part) == whole
    assert (store.read(JOB, part) is not None) == whole
    if not whole:
        assert_set_aside(store, f"{part}.json")


def test_what_was_set_aside_before_is_kept(store):
    path = path_of(store, "step-1.json")
    for k in range(3):
        path.write_bytes(b"spoiled %d" % k)
        assert store.read(JOB, "step-1") is None
    folder = store.root / "quarantine"
    for k, end in enumerate(("", ".2", ".3")):
        assert (folder / f"{JOB}.step-1.json{end}").read_bytes() == b"spoiled %d" % k
    assert len(notes(store.root)) == 3
    store.write(JOB, "step-1", MEASURED)
    assert store.read(JOB, "step-1") == MEASURED
    assert len(notes(store.root)) == 3


@pytest.mark.parametrize("name", ["step-1.json", "step-1.checkpoint.json", "step-1.pt"])
def test_what_may_not_be_read_is_set_aside(store, tmp_path, name):
    open_to_all(tmp_path)
    path = path_of(store, name)
    path.chmod(0)

    def use():
        return store.read(JOB, "step-1"), store.load_checkpoint(JOB, "step-1")

    said = as_nobody(use)
    assert said.startswith("(None, Checkpoint(" if name == "step-1.json" else "(Measurement(")
    assert not os.path.lexists(path)
    assert (store.root / "quarantine" / f"{JOB}.{name}").exists()
    reason = "does not match" if name == "step-1.pt" else "cannot be read (Permission denied)"
    assert reason in notes(store.root)[0]


def test_who_must_not_write_sets_nothing_aside(store):
    class NotNow(Exception):
        pass

    def refuse():
        raise NotNow

    path = path_of(store, "step-1.json")
    path.write_bytes(b"spoiled")
    suspended = Store(store.root, "identity", refuse)
    for use in (
        lambda: suspended.read(JOB, "step-1"),
        lambda: suspended.write(JOB, "step-1", MEASURED),
        lambda: suspended.save_checkpoint(JOB, "step-1", {}, {}),
    ):
        with pytest.raises(NotNow):
            use()
    assert path.read_bytes() == b"spoiled"
    assert not (store.root / "quarantine").exists()


def test_a_file_larger_than_any_result_is_not_read(tmp_path):
    """Though it ends as one does: what takes a terabyte to read takes none to make."""
    path = tmp_path / "huge.json"
    path.write_bytes(sealed(b'{"a": 1}'))
    assert read_sealed(path) == path.read_bytes()
    seal = path.read_bytes()[-80:]
    with path.open("r+b") as file:
        file.truncate(2**40)
        file.seek(0, os.SEEK_END)
        file.write(seal)
    with pytest.raises(ValueError, match="larger than any"):
        read_sealed(path)
