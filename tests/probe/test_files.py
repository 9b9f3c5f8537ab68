"""Files are there whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from probe.processes import machine

from probe.errors import InputError, NotWritten
from probe.files import create, discard, make_folder, replacing, suffix, sweep, sweep_all


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bytes | None
) -> None:
    path = tmp_path / "part.json"
    if before is not None:
        path.write_bytes(before)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def write(content: bytes) -> None:
        with replacing(path) as partial:
            partial.write_bytes(content)

    monkeypatch.setattr(os, step, full)
    with pytest.raises(InputError, match=r"cannot write .*part.json \(No space left .*make room"):
        write(b"new")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([before] if before else [])
    monkeypatch.undo()
    write(b"new")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"new"]


HERE, ELSEWHERE = machine(), "00000000"
# Of processes of this machine that are gone: no process has such a number.
DEAD = {f"a.json.{HERE}-4000001.tmp", f"values.x7.bin.{HERE}-4000003.tmp"}
LIVING = {f"d.csv{suffix()}", f"e.json.{HERE}-{os.getppid()}.tmp"}
UNKNOWN = {f"f.pt.{ELSEWHERE}-4000001.tmp"}  # on a machine that cannot be seen from here
ALIKE = {"a.json", "c.tmp", "n.2024.tmp", "d.csv.4000001.tmp", f"d.doc.{HERE}-4000001.tmp"}


@pytest.mark.parametrize(
    ("clear", "removed"),
    [
        (sweep, DEAD),
        (sweep_all, DEAD | LIVING | UNKNOWN),
        (lambda folder: sweep_all(folder, "*.csv"), {f"d.csv{suffix()}"}),
    ],
    ids=["sweep", "sweep_all", "sweep_all of one kind"],
)
def test_sweeping_removes_what_was_left_and_nothing_else(
    tmp_path: Path, clear: Callable[[Path], None], removed: set[str]
) -> None:
    """Of a folder that others write to only what nobody finishes; never what looks alike."""
    (tmp_path / "below").mkdir()
    every = DEAD | LIVING | UNKNOWN | ALIKE
    for name in (*every, *(f"below/{name}" for name in DEAD)):
        (tmp_path / name).write_bytes(b"")
    clear(tmp_path)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == every - removed
    assert {path.name for path in (tmp_path / "below").iterdir()} == DEAD
    clear(tmp_path / "absent")


@pytest.mark.parametrize("links", [True, False])
def test_only_the_first_creates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Also on a file system without links, where a file that is there is not asked for."""

    def unknown(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    path = tmp_path / "study.json"
    if not links:
        monkeypatch.setattr(os, "link", unknown)
    assert create(path, b"first")
    assert path.read_bytes() == b"first"
    if links:
        assert not create(path, b"second")
        assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_created_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotWritten, match=r"cannot write .*study.json \(No space left .*make room"):
        create(tmp_path / "study.json", b"first")
    assert list(tmp_path.iterdir()) == []


def test_what_is_replaced_is_another_file(tmp_path: Path) -> None:
    """So whoever has it under another name, or open, keeps what there was."""
    path, other = tmp_path / "rows.csv", tmp_path / "backup.csv"
    path.write_bytes(b"old")
    os.link(path, other)
    with path.open("rb") as file:
        with replacing(path) as partial:
            partial.write_bytes(b"new")
        assert file.read() == other.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(NotWritten, match="was its folder moved or removed"),
        replacing(tmp_path / "gone" / "rows.csv") as partial,
    ):
        partial.write_bytes(b"new")
    discard(tmp_path / "gone" / "rows.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "part.json"
    path.write_bytes(b"old")
    with pytest.raises(UnicodeEncodeError), replacing(path) as partial:
        partial.write_text("half \udc80", encoding="utf-8")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"cannot write to .*below \(Not a directory\): .*--out"):
        make_folder(tmp_path / "file" / "below")
