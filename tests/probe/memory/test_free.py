"""What is free: read from made-up system files, and within reason on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from probe.memory import free as memory

V1 = {
    "limit": "memory.limit_in_bytes",
    "usage": "memory.usage_in_bytes",
    "reclaimable": "total_inactive_file",
}
V2 = {"limit": "memory.max", "usage": "memory.current", "reclaimable": "inactive_file"}


def group(folder: Path, names: dict[str, str], limit: str, usage: int, reclaimable: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names["limit"]).write_text(f"{limit}\n")
    (folder / names["usage"]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 7\n{names['reclaimable']} {reclaimable}\nx 1\n")


@pytest.mark.parametrize(
    ("own", "mount", "names"),
    [("3:cpu,memory:/a/b\n0::/\n", "memory", V1), ("0::/a/b\n", "", V2)],
    ids=["version 1", "version 2"],
)
def test_every_group_around_the_process_limits(
    tmp_path: Path, own: str, mount: str, names: dict[str, str]
) -> None:
    file = tmp_path / "own"
    file.write_text(own)
    group(tmp_path / mount / "a" / "b", names, "1000", 700, 50)
    group(tmp_path / mount / "a", names, "900", 950, 10)
    group(tmp_path / mount / "a" / "other", names, "1", 0, 0)
    assert sorted(memory.group_room(tmp_path, file)) == [0, 350]


@pytest.mark.parametrize("limit", ["1000", "max"])
@pytest.mark.parametrize("own", ["2:memory:/of/the/host\n", "0::/of/the/host\n", "0::/\n"])
def test_inside_a_container_the_root_is_its_own_group(tmp_path: Path, own: str, limit: str) -> None:
    file = tmp_path / "own"
    file.write_text(own)
    group(tmp_path / "memory", V1, limit, 400, 0)
    group(tmp_path, V2, limit, 400, 0)
    (room,) = memory.group_room(tmp_path, file)
    assert room == 600 if limit == "1000" else room > 10**18


def test_a_system_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(memory.available(tmp_path / "none")) == []
    assert list(memory.group_room(tmp_path, tmp_path / "none")) == []
    monkeypatch.setattr(memory, "available", lambda: iter(()))
    monkeypatch.setattr(memory, "group_room", lambda: iter(()))
    assert memory.free_memory(torch.device("cpu")) == 4 * 10**9


def test_free_memory_is_the_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:  99 kB\nMemFree: 1 kB\nMemAvailable:   40 kB\n")
    assert list(memory.available(file)) == [40 * 1024]
    monkeypatch.setattr(memory, "available", lambda: iter([500]))
    monkeypatch.setattr(memory, "group_room", lambda: iter([700, 300]))
    assert memory.free_memory(torch.device("cpu")) == 300
