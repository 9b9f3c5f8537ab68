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
