"""Files are there whole or not at all."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from probe.errors import InputError
from probe.files import make_folder, replacing, write_text
from probe.record.state_files import load_state
from scenarios.data.npz import read_arrays


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch, step, before):
    path = tmp_path / "part.json"
    if before is not None:
        path.write_bytes(before)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def write(content):
        with replacing(path) as partial:
            partial.write_bytes(content)

    monkeypatch.setattr(os, step, full)
    with pytest.raises(
        InputError, match=r"cannot write .*part.json \(No space left .*make room"
    ):
        write(b"new")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == (
        [before] if before else []
    )
    monkeypatch.undo()
    write(b"new")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"new"]


def test_only_files_are_replaced(tmp_path):
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    for path in (pipe, Path("/")):
        with pytest.raises(InputError, match=f"cannot write {path} "):
            write_text(path, "page")
    assert pipe.is_fifo()


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"cannot write .*below \(Not a directory\): .*folder"
    ):
        make_folder(tmp_path / "file" / "below")


@pytest.mark.parametrize("read", [load_state, lambda path: read_arrays(path, ["x"])])
def test_a_file_that_unpacks_a_thousandfold_is_not_read(tmp_path, read):
    with (tmp_path / "x.npz").open("wb") as file:
        np.savez_compressed(file, x=np.zeros(2**23 + 1))
    with pytest.raises(InputError, match=f"{2**26 + 8 + 128} bytes"):
        read(tmp_path / "x.npz")
