"""Setting aside: one place for each file, and a note of its own, also if two do it at once."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from scenarios.study.quarantine import notes, set_aside
from tests.scenarios.execution.turns import Turns, orders

from probe.errors import NotWritten


def damaged(root: Path, name: str) -> Path:
    path = root / "jobs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(name)
    return path


def set_aside_in(root: Path) -> dict[str, str]:
    """Return what was set aside, by the name that it had, and check that its note says where."""
    found = {}
    for note in (root / "quarantine").glob("*.txt"):
        own, where = note.read_text().split(": it is spoiled; set aside as ")
        target = root / where.partition(", computed anew")[0]
        assert target == note.with_suffix("")
        found[own] = target.read_text()
    assert len(found) * 2 == len(list((root / "quarantine").iterdir()))
    return found


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Return what sets files aside side by side, in an order of their steps, and what came of it.

    A step is whatever changes the disk.
    """
    current: list[Turns] = []

    def stepwise(function: Callable) -> Callable:
        def stepped(*arguments: object, **settings: object) -> object:
            current[-1].step()
            return function(*arguments, **settings)

        return stepped

    monkeypatch.setattr(Path, "open", stepwise(Path.open))
    monkeypatch.setattr(Path, "unlink", stepwise(Path.unlink))
    monkeypatch.setattr(os, "rename", stepwise(os.rename))

    def play(choose: Callable, names: list[str]) -> dict[str, str]:
        current.append(Turns(choose))
        root = tmp_path / str(len(current))
        files = [damaged(root, name) for name in names]
        current[-1].run([partial(set_aside, root, file, "it is spoiled") for file in files])
        assert current[-1].errors == []
        assert not any(file.exists() for file in files)
        return set_aside_in(root)

    return play


def test_two_set_one_file_aside(played: Callable[..., dict[str, str]]) -> None:
    """The second finds that it is gone: one file, one note."""
    seen = [played(choose, ["er/step-1.json"] * 2) for choose in orders(switches=3)]
    assert {tuple(found.items()) for found in seen} == {
        (("jobs/er/step-1.json", "er/step-1.json"),)
    }
    assert len(seen) > 10


def test_two_set_files_aside_that_would_have_one_name(
    played: Callable[..., dict[str, str]],
) -> None:
    names = ["er/step-1.json", "er.step-1.json"]
    seen = [played(choose, names) for choose in orders(switches=3)]
    expected = {f"jobs/{name}": name for name in names}
    assert [found for found in seen if found != expected] == []
    assert len(seen) > 10


@pytest.mark.parametrize("full", [True, False], ids=["disk full", "not allowed"])
def test_what_cannot_be_set_aside_leaves_no_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    """A note that was made but has no room, and a file that may not be moved."""
    file, opened = damaged(tmp_path, "er/step-1.json"), Path.open

    def fail(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    def make_only(path: Path, mode: str, encoding: str) -> None:
        opened(path, mode, encoding=encoding).close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        if full:
            patch.setattr(Path, "open", make_only)
        else:
            patch.setattr(os, "rename", fail)
        with pytest.raises(NotWritten, match=r"cannot set .*step-1.json aside .* as it is spoiled"):
            set_aside(tmp_path, file, "it is spoiled")
    assert file.exists()
    assert list((tmp_path / "quarantine").iterdir()) == []
    assert notes(tmp_path) == []
    set_aside(tmp_path, file, "it is spoiled")
    assert set_aside_in(tmp_path) == {"jobs/er/step-1.json": "er/step-1.json"}
