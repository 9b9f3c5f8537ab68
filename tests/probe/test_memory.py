"""Sizes in text, free memory by made-up system files, and mapped files that leave nothing."""

import errno
import os
from pathlib import Path

import pytest
import torch

from probe import memory
from probe.errors import InputError
from probe.memory import MappedRows
from scenarios.options import parse_size
from tests.probe.resident import resident


def test_sizes_are_read():
    sizes = {
        "4096": 4096,
        "500 mb": 500 * 10**6,
        "1.5KiB": 1536,
        "1.0000000005GB": 10**9,
    }
    assert {text: parse_size(text, "a size") for text in sizes} == sizes


@pytest.mark.parametrize(
    "text",
    ["", "GB", "-1GB", "1e9", "٣", "9" * 400 + "GB"],
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(
        InputError, match="--cache-budget expects a size such as 500MB, 2GiB"
    ):
        parse_size(text, "--cache-budget")


V1 = {
    "limit": "memory.limit_in_bytes",
    "usage": "memory.usage_in_bytes",
    "reclaimable": "total_inactive_file",
}
V2 = {"limit": "memory.max", "usage": "memory.current", "reclaimable": "inactive_file"}


def group(folder, names, limit, usage, reclaimable):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names["limit"]).write_text(f"{limit}\n")
    (folder / names["usage"]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(
        f"anon 7\n{names['reclaimable']} {reclaimable}\nx 1\n"
    )


@pytest.mark.parametrize(
    ("own", "mount", "names"),
    [("3:cpu,memory:/a/b\n0::/\n", "memory", V1), ("0::/a/b\n", "", V2)],
    ids=["version 1", "version 2"],
)
def test_every_group_around_the_process_limits(tmp_path, own, mount, names):
    file = tmp_path / "own"
    file.write_text(own)
    group(tmp_path / mount / "a" / "b", names, "1000", 700, 50)
    group(tmp_path / mount / "a", names, "900", 950, 10)
    group(tmp_path / mount / "a" / "other", names, "1", 0, 0)
    assert sorted(memory.cgroup_room(tmp_path, file)) == [0, 350]


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says what is resident"
)
def test_pages_are_let_go_and_keep_what_was_written(tmp_path):
    n, width = 6000, 8192
    file = MappedRows(tmp_path, n, width, torch.float32)
    assert (
        list(tmp_path.iterdir()) == []
    )  # without a name: a killed process leaves nothing
    size = n * width * 4
    before = resident("RssFile"), resident("RssAnon")
    for start in range(0, n, 50):
        file.rows[start : start + 50] = torch.arange(start, start + 50)[:, None]
        file.let_go()
    for indices in torch.randperm(n).split(100):
        assert torch.equal(file.index_select(0, indices)[:, -1], indices.float())
    assert resident("RssFile") - before[0] < size / 4
    assert resident("RssAnon") - before[1] < size / 4
    assert (
        float(file.rows.double().mean()) == (n - 1) / 2
    )  # touches all of it, and says nothing
    assert resident("RssFile") - before[0] > 0.9 * size


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"\(No space left on device\)"):
        MappedRows(tmp_path, 10, 10, torch.float32)
    assert list(tmp_path.iterdir()) == []
