"""What a data set is said to be read from is what it is read from: no more and no less."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.finished.opened import opened_below
from tests.finished.small import made
from torchvision import datasets

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data import datasets as module
from scenarios.data.datasets import BUNDLED, LOADERS, Dataset, Location, files_of, load
from scenarios.study.source import check_study
from tests.scenarios.data.test_datasets import write_cifar, write_idx, write_svhn
from tests.scenarios.data.test_speech import file_of


def read_by(name: str, location: Location, below: Path) -> set[Path]:
    """Load a data set; return what of a folder was opened for it."""
    with opened_below(below) as seen:
        load(name, location)
    return seen


def bundled(folder: Path, patch: pytest.MonkeyPatch) -> object:
    """There is a file of that kind, but not for these."""
    return file_of(folder)


WRITTEN: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    **dict.fromkeys(BUNDLED, bundled),
    "spoken_digits": lambda folder, _: file_of(folder),
    "mnist": lambda folder, _: write_idx(folder, "MNIST"),
    "fashion_mnist": lambda folder, _: write_idx(folder, "FashionMNIST"),
    "svhn": lambda folder, patch: write_svhn(folder, datasets.SVHN, patch),
    "cifar10": lambda folder, patch: write_cifar(folder, datasets.CIFAR10, patch),
    "cifar100": lambda folder, patch: write_cifar(folder, datasets.CIFAR100, patch),
}
COUNTS = {"spoken_digits": 1, "mnist": 4, "fashion_mnist": 4, "svhn": 2, "cifar10": 6}


def test_every_data_set_is_among_these() -> None:
    assert WRITTEN.keys() == LOADERS.keys()


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_read_is_what_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    WRITTEN[name](tmp_path, monkeypatch)
    named = files_of(name, Location(tmp_path))
    assert read_by(name, Location(tmp_path), tmp_path) == set(named)
    assert len(set(named)) == (0 if name in BUNDLED else COUNTS.get(name, 2))
    # Their order and number do not depend on what is there.
    assert files_of(name, Location(tmp_path / "nowhere")) == [
        tmp_path / "nowhere" / path.relative_to(tmp_path) for path in named
    ]


@pytest.mark.parametrize("name", LOADERS)
def test_none_is_named_where_there_is_no_folder(name: str) -> None:
    assert files_of(name, Location(None)) == []


@pytest.mark.parametrize("name", [name for name in LOADERS if name not in BUNDLED])
def test_one_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    """Once it is there, the study is another."""
    with pytest.raises(InputError):
        load(name, Location(tmp_path))
    assert files_of(name, Location(tmp_path))


@pytest.mark.parametrize("place", ["current", "data", "both", "home", "absolute"])
@pytest.mark.parametrize("folder", [True, False])
def test_a_feature_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, folder: bool
) -> None:
    """Where it is found, and before that where it would have been."""
    current, data, home = (tmp_path / name for name in ("current", "data", "home"))
    current.mkdir()
    monkeypatch.chdir(current)
    monkeypatch.setenv("HOME", str(home))
    location = Location(data if folder else None)
    name = {"home": "~/a/f.npz", "absolute": str(tmp_path / "a" / "f.npz")}.get(place, "a/f.npz")
    where = [p for p in (current, data, home) if p.name == place] or {
        "absolute": [tmp_path],
        "both": [current, data],
    }[place]
    for each in where:
        made(each / "a" / "f.npz", 0)
    named = [Path(os.path.abspath(path)) for path in files_of(name, location)]
    if place in ("home", "absolute"):
        assert named == [where[0] / "a" / "f.npz"]
    else:
        assert named == [
            each / "a" / "f.npz" for each in ([current, data] if folder else [current])
        ]
    if place == "data" and not folder:
        with pytest.raises(InputError, match="there is no feature file"):
            load(name, location)
    else:
        assert read_by(name, location, tmp_path) == {where[0] / "a" / "f.npz"} <= set(named)


def test_a_scenario_of_two_names_the_files_of_both(tmp_path: Path) -> None:
    raw = {
        "name": "two",
        "scenario": {"kind": "multimodal", "data": ["mnist", "spoken_digits"]},
        "network": {"name": "mlp"},
        "learners": {"finetune": {}},
    }
    location = Location(tmp_path)
    both = [*files_of("mnist", location), *files_of("spoken_digits", location)]
    assert check_study(raw, "two").scenario.files(location) == both
    for kind in ("split", "permutation", "incremental"):
        raw["scenario"] = {"kind": kind, "data": "mnist"}
        named = check_study(raw, "one").scenario.files(location)
        assert named == files_of("mnist", location)


def listing(folder: Path) -> None:
    list(folder.iterdir())


def opening(folder: Path) -> None:
    (folder / "secret").read_bytes()


def through_numpy(folder: Path) -> None:
    np.fromfile(folder / "secret", np.uint8)


@pytest.mark.parametrize("look", [listing, opening, through_numpy])
def test_a_loader_that_looks_elsewhere_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[Path], None]
) -> None:
    def loader(true: Callable[[Location], Dataset], location: Location) -> Dataset:
        assert location.folder
        look(location.folder)
        return true(location)

    file_of(tmp_path)
    (tmp_path / "secret").write_bytes(b"1")
    monkeypatch.setitem(module.LOADERS, "spoken_digits", partial(loader, LOADERS["spoken_digits"]))
    read = read_by("spoken_digits", Location(tmp_path), tmp_path)
    more = tmp_path if look is listing else tmp_path / "secret"
    assert read - set(files_of("spoken_digits", Location(tmp_path))) == {more}


def test_a_loader_that_looks_at_less_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = Examples(torch.eye(2), torch.tensor([0, 1]))
    data = Dataset(name="none", classes=2, train=half, test=half)
    monkeypatch.setitem(module.LOADERS, "mnist", lambda _: data)
    write_idx(tmp_path, "MNIST")
    assert read_by("mnist", Location(tmp_path), tmp_path) == set()
