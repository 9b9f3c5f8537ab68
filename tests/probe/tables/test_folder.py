"""A result in a folder: exact, whole or not at all, and refused when it is damaged."""

import errno
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from probe.errors import InputError, NotWritten
from probe.files import hashed, unhashed
from probe.tables.folder import DESCRIPTION, Saved, read_folder, write_folder
from probe.tables.table_file import new_table
from tests.probe.tables.made_rows import study

ARRAYS = {"counts": np.arange(8).reshape(2, 2, 2), "bits": np.array([3, 255], np.uint8)}
RECORD = {
    "seeds": 3,
    "names": ["a", "ü\n"],
    "share": 0.1,
    "none": None,
}
SAVED = Saved(
    kind="made",
    tables={"measurements": study()},
    record=RECORD,
    arrays=ARRAYS,
)
OTHER = Saved(kind="other", tables={"measurements": study()[:3]})


@pytest.fixture
def folder(tmp_path):
    write_folder(tmp_path / "result", SAVED)
    return tmp_path / "result"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check(read, expected=SAVED):
    assert (read.kind, read.record) == (expected.kind, expected.record)
    for name, table in read.tables.items():
        assert table.equals(expected.tables.get(name, new_table(name)))
    assert read.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(read.arrays[name], array, strict=True)


def test_it_comes_back_as_it_was_and_is_the_same_bytes_again(folder, tmp_path):
    check(read_folder(folder))
    assert contents(folder).keys() == {"measurements.csv", "arrays.npz", DESCRIPTION}
    write_folder(tmp_path / "again", SAVED)
    assert contents(tmp_path / "again") == contents(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"result", "again"}


def test_an_earlier_result_and_an_empty_folder_are_replaced(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (folder, tmp_path / "empty", tmp_path / "deep" / "new"):
        write_folder(path, OTHER)
        check(read_folder(path), OTHER)
        assert not (path / "arrays.npz").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"result", "empty", "deep"}


@pytest.mark.parametrize("name", ["study.json", "measurements.csv.bak"])
def test_a_folder_that_holds_something_else_is_left_alone(folder, name):
    (folder / name).write_text("mine")
    before = contents(folder)
    for path in (folder, folder / name):
        with pytest.raises(InputError, match=name):
            write_folder(path, SAVED)
    assert contents(folder) == before


@pytest.mark.parametrize("operation", ["fsync", "rename"])
@pytest.mark.parametrize("before", [False, True])
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path, monkeypatch, operation, before
):
    folder = tmp_path / "result"
    rename = Path.rename
    if before:
        write_folder(folder, SAVED)

    def full(path, to=folder):
        # The earlier result may be moved aside and back; the new one cannot take its
        # place.
        if (
            operation == "rename"
            and b'"other"' not in (path / DESCRIPTION).read_bytes()
        ):
            return rename(path, to)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if operation == "fsync" else Path, operation, full)
    with pytest.raises(NotWritten, match=r"result \(No space left on device\)"):
        write_folder(folder, OTHER)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == (["result"] if before else [])
    if before:
        check(read_folder(folder))


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _describe(path, **changed):
    description = json.loads(unhashed((path / DESCRIPTION).read_bytes()))
    (path / DESCRIPTION).write_bytes(hashed(json.dumps(description | changed).encode()))


def _pickle(folder):
    """Let the arrays be a pickle, under its right hash."""
    with (folder / "arrays.npz").open("wb") as file:
        np.savez(
            file,
            counts=np.array([Path()], dtype=object),
            allow_pickle=True,
        )
    content = (folder / "arrays.npz").read_bytes()
    _describe(folder, files={"arrays.npz": hashlib.sha256(content).hexdigest()})


@pytest.mark.parametrize(
    ("damage", "file"),
    [
        (lambda at: _flip(at / "measurements.csv"), "measurements.csv"),
        (lambda at: _flip(at / DESCRIPTION), DESCRIPTION),
        (lambda at: (at / "measurements.csv").unlink(), "measurements.csv"),
        (lambda at: (at / DESCRIPTION).unlink(), DESCRIPTION),
        (lambda at: _describe(at, files={"../../secret": "0"}), DESCRIPTION),
        (_pickle, "arrays.npz"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_named(folder, damage, file):
    damage(folder)
    with pytest.raises(InputError, match=file):
        read_folder(folder)
