"""Memory-mapped files: gone however their process ends, and honest about what they take."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from probe.errors import InputError
from probe.memory.scratch import MappedRows
from tests.probe.memory.resident import resident

# A process that maps 8 MB, says so, and stays until it is killed.
STAYS = """
import sys
from pathlib import Path
import torch
from probe.memory.scratch import MappedRows
file = MappedRows(Path(sys.argv[1]), 1000, 2000, torch.float32)
file.rows.fill_(1.0)
print("mapped", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STAYS, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mapped\n"
        assert list(tmp_path.iterdir()) == []
        process.kill()
        process.wait()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # the disk is filled by others as well
def test_the_disk_is_given_back_when_the_rows_are_dropped(tmp_path: Path) -> None:
    def taken() -> int:
        disk = os.statvfs(tmp_path)
        return (disk.f_blocks - disk.f_bfree) * disk.f_frsize

    size = 256 * 2**20  # far above what anything else writes meanwhile
    before = taken()
    file = MappedRows(tmp_path, size, 1, torch.uint8)
    assert taken() - before > size / 2
    assert len(file.rows) == size
    del file
    assert taken() - before < size / 2


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says what is resident"
)
def test_pages_are_let_go_and_keep_what_was_written(tmp_path: Path) -> None:
    n, width = 6000, 8192
    file = MappedRows(tmp_path, n, width, torch.float32)
    size = n * width * 4
    before = resident("RssFile"), resident("RssAnon")
    for start in range(0, n, 50):
        file.rows[start : start + 50] = torch.arange(start, start + 50)[:, None]
        file.let_go()
    for indices in torch.randperm(n).split(100):
        assert torch.equal(file.gather(indices)[:, -1], indices.float())
    assert resident("RssFile") - before[0] < size / 4
    assert resident("RssAnon") - before[1] < size / 4
    assert float(file.rows.double().mean()) == (n - 1) / 2  # touches all of it, and says nothing
    assert resident("RssFile") - before[0] > 0.9 * size


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"cannot keep values in .* \(No space left .*make room"):
        MappedRows(tmp_path, 10, 10, torch.float32)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot keep values in .*below \(Not a directory\)"):
        MappedRows(tmp_path / "file" / "below", 10, 10, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_rows_are_zeros_of_the_type(tmp_path: Path, dtype: torch.dtype) -> None:
    rows = MappedRows(tmp_path / "made", 5, 3, dtype).rows
    assert torch.equal(rows, torch.zeros(5, 3, dtype=dtype))
    rows[2] = 1
    assert rows[2].all()
    assert not rows[[0, 1, 3, 4]].any()
