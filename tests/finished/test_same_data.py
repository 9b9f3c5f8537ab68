"""Data that are not those with which a study was finished: seen without reading them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.data import datasets
from scenarios.data.feature_files import Features
from tests.finished.small import TOML, again, finished, goes_on, made, touched

FEATURES = TOML.format(data="f.npz")


def refused(folder: Path, *flags: object) -> None:
    """Check that the study is refused as other data are there, and that nothing is written."""
    before = touched(folder / "run")
    said = again(folder, *flags)
    assert (said.code, said.out, said.short) == (2, "", False)
    assert "belongs to another study: data is" in said.err
    assert touched(folder / "run").keys() == before.keys()


def in_current_folder(place: Path, patch: pytest.MonkeyPatch) -> list[object]:
    patch.chdir(place)
    return []


def in_data_of_environment(place: Path, patch: pytest.MonkeyPatch) -> list[object]:
    patch.setenv("PROBE_DATA", str(place))
    return []


def in_home(place: Path, patch: pytest.MonkeyPatch) -> list[object]:
    patch.setenv("HOME", str(place))
    return ["--sets", "~/f.npz"]


def in_data_folder(place: Path, patch: pytest.MonkeyPatch) -> list[object]:
    return ["--data", place]


def in_relative_data_folder(place: Path, patch: pytest.MonkeyPatch) -> list[object]:
    (place / "beside").mkdir(exist_ok=True)
    patch.chdir(place / "beside")
    return ["--data", ".."]


@pytest.mark.parametrize(
    "go",
    [in_current_folder, in_data_of_environment, in_home, in_data_folder, in_relative_data_folder],
)
def test_data_of_the_same_name_in_another_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    go: Callable[[Path, pytest.MonkeyPatch], list[object]],
) -> None:
    here, same, other = (tmp_path / name for name in ("here", "same", "other"))
    for place, seed in ((here, 0), (same, 0), (other, 1)):
        made(place / "f.npz", seed)
    (tmp_path / "tiny.toml").write_text(FEATURES)
    assert again(tmp_path, *go(here, monkeypatch)).code == 0
    assert again(tmp_path, *go(here, monkeypatch)).short
    refused(tmp_path, *go(other, monkeypatch))
    goes_on(tmp_path, *go(same, monkeypatch))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with the feature file of a study that is finished, and recognized as that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROBE_DATA", str(tmp_path / "data"))
    made(tmp_path / "data" / "f.npz", 0)
    finished(tmp_path, FEATURES)
    assert again(tmp_path).short
    return tmp_path / "data"


def test_data_that_were_changed_without_a_trace(tmp_path: Path, data: Path) -> None:
    """Of the same size, in the same file, and of the same time; when that was set nobody can."""
    path, before = data / "f.npz", (data / "f.npz").stat()
    for seed in (1, 0):
        with path.open("r+b") as file:
            file.write(made(tmp_path / "changed.npz", seed).read_bytes())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        for name in ("st_size", "st_ino", "st_mtime_ns"):
            assert getattr(after, name) == getattr(before, name)
        if seed:
            refused(tmp_path)
    goes_on(tmp_path)


def test_data_that_change_while_they_are_read(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is finished; what is there now is looked at by the next."""
    (tmp_path / "run" / "tables.json").unlink()
    true = datasets.read_features

    def read_and_change(path: Path) -> Features:
        found = true(path)
        made(data / "f.npz", 1)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(datasets, "read_features", read_and_change)
        assert again(tmp_path).code == 0
    refused(tmp_path)


def test_data_that_were_removed_or_replaced(tmp_path: Path, data: Path) -> None:
    (data / "f.npz").rename(tmp_path / "kept.npz")
    said = again(tmp_path)
    assert (said.code, said.short) == (2, False)
    assert "there is no feature file" in said.err
    made(data / "f.npz", 1)
    refused(tmp_path)
    shutil.copy(tmp_path / "kept.npz", data / "f.npz")
    goes_on(tmp_path)


def test_data_that_appear_where_they_are_looked_for_first(tmp_path: Path, data: Path) -> None:
    (tmp_path / "f.npz").mkdir()
    goes_on(tmp_path)
    (tmp_path / "f.npz").rmdir()
    made(tmp_path / "f.npz", 1)
    refused(tmp_path)
    made(tmp_path / "f.npz", 0)
    goes_on(tmp_path)


@pytest.mark.parametrize("name", ["one.npz", "two.npz"])
def test_each_of_two_data_sets(tmp_path: Path, name: str) -> None:
    for seed, each in enumerate(("one.npz", "two.npz")):
        made(tmp_path / each, seed)
    names = '["one.npz", "two.npz"]\nkind = "multimodal"'
    (tmp_path / "tiny.toml").write_text(TOML.replace('"{data}"', names))
    assert again(tmp_path, "--data", tmp_path).code == 0
    assert again(tmp_path, "--data", tmp_path).short
    made(tmp_path / name, 2)
    refused(tmp_path, "--data", tmp_path)


@pytest.mark.parametrize("name", ["a\\u0000b", "~a\\u0000b", "~nobody/a", "nowhere/a"])
def test_data_that_cannot_be_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "tiny.toml").write_text(TOML.format(data=f"{name}.npz"))
    said = again(tmp_path)
    assert (said.code, said.short) == (2, False)
    assert said.err.startswith("error: there is no feature file")
