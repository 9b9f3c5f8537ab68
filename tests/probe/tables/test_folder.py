"""A result in a folder: exact, whole or not at all, and told when it is damaged."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from probe.errors import InputError, NotWritten
from probe.files import hashed, unhashed
from probe.tables.folder import DESCRIPTION, Saved, read_folder, write_folder
from tests.probe.tables.made_rows import study

ARRAYS = {"counts": np.arange(8).reshape(2, 2, 2), "bits": np.array([3, 255], np.uint8)}
RECORD = {"seeds": 3, "names": ["a", "ü\n"], "share": 0.1, "none": None}
SAVED = Saved(kind="made", tables={"rows": study()}, record=RECORD, arrays=ARRAYS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "kept", SAVED)
    return tmp_path / "kept"


def check(found: Saved, expected: Saved = SAVED) -> None:
    assert (found.kind, found.record) == (expected.kind, expected.record)
    assert {k: list(v) for k, v in found.tables.items()} == dict(expected.tables)
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


def test_it_comes_back_as_it_was(folder: Path) -> None:
    check(read_folder(folder))
    assert {path.name for path in folder.iterdir()} == {"rows.csv", "arrays.npz", DESCRIPTION}
    assert [path.name for path in folder.parent.iterdir()] == ["kept"]


def test_the_same_result_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "again", SAVED)
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_an_earlier_result_and_an_empty_folder_are_replaced(folder: Path, tmp_path: Path) -> None:
    other = Saved(kind="other", tables={"rows": study()[:3]})
    (tmp_path / "empty").mkdir()
    for path in (folder, tmp_path / "empty", tmp_path / "deep" / "new"):
        write_folder(path, other)
        check(read_folder(path), other)
        assert not (path / "arrays.npz").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "empty", "deep"}


@pytest.mark.parametrize("name", ["notes.txt", "study.json", "rows.csv.bak"])
def test_a_folder_that_holds_something_else_is_left_alone(folder: Path, name: str) -> None:
    (folder / name).write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=rf"kept holds something else \({name}\): choose another"):
        write_folder(folder, SAVED)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"cannot use .*file"):
        write_folder(tmp_path / "file", SAVED)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("step", ["fsync", "rename"])
@pytest.mark.parametrize("before", [False, True])
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bool
) -> None:
    kept = tmp_path / "kept"
    if before:
        write_folder(kept, SAVED)
    rename = Path.rename

    def full(path: object, *to: object) -> object:
        # What is moved aside may be moved: it is the new folder that cannot take its place.
        if step == "rename" and (path == kept or (Path(*to) == kept and _is_old(Path(path)))):  # type: ignore[arg-type]
            return rename(path, *to)  # type: ignore[arg-type]
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if step == "fsync" else Path, step, full)
    with pytest.raises(NotWritten, match=r"cannot write .*kept \(No space left on device\)"):
        write_folder(kept, Saved(kind="other", tables={"rows": []}))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == (["kept"] if before else [])
    if before:
        check(read_folder(kept))


def _is_old(path: Path) -> bool:
    return json.loads((path / DESCRIPTION).read_bytes())["kind"] == "made"


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _describe(path: Path, **changed: object) -> None:
    found = json.loads(unhashed((path / DESCRIPTION).read_bytes()))
    (path / DESCRIPTION).write_bytes(hashed(json.dumps(found | changed).encode()))


DAMAGES = {
    "a bit of a table": (
        lambda folder: _flip(folder / "rows.csv"),
        r"rows\.csv is damaged \(its content does not match its hash\): save the result again",
    ),
    "a bit of the arrays": (lambda folder: _flip(folder / "arrays.npz"), r"arrays\.npz is damaged"),
    "a bit of the description": (lambda folder: _flip(folder / DESCRIPTION), "json is damaged"),
    "a table is gone": (
        lambda folder: (folder / "rows.csv").unlink(),
        r"rows\.csv is damaged \(it cannot be read \(No such file or directory\)\)",
    ),
    "half of the arrays": (
        lambda folder: os.truncate(folder / "arrays.npz", 40),
        r"arrays\.npz is damaged",
    ),
    "no description": (
        lambda folder: (folder / DESCRIPTION).unlink(),
        rf"kept holds no saved result \({re.escape(DESCRIPTION)}: No such file",
    ),
    "a file elsewhere": (
        lambda folder: _describe(folder, files={"../../secret": "0"}),
        r"is damaged \(it describes no result\)",
    ),
    "files as a list": (lambda folder: _describe(folder, files=["rows.csv"]), "describes no resul"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_told_in_one_sentence(folder: Path, damage: str) -> None:
    make, told = DAMAGES[damage]
    make(folder)
    with pytest.raises(InputError, match=told) as error:
        read_folder(folder)
    assert "\n" not in str(error.value)


def test_nothing_in_it_is_unpickled(folder: Path) -> None:
    import hashlib
    import io

    held = io.BytesIO()
    np.savez(held, counts=np.array([Path()], dtype=object), allow_pickle=True)
    (folder / "arrays.npz").write_bytes(held.getvalue())
    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("[!r]*.npz")}
    _describe(folder, files=files)
    with pytest.raises(InputError, match=r"arrays\.npz is damaged \(it holds no arrays\)"):
        read_folder(folder)
