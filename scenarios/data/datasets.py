"""Data sets as tensors in memory: bundled, in torchvision's folder layout, or feature files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from probe.errors import InputError, unknown
from probe.examples import Examples, check_examples
from scenarios.data.bundled import breast_cancer, digits
from scenarios.data.feature_files import SUFFIX, find, places, read_features
from scenarios.data.published import PUBLISHED, read_published

_SPOKEN = "fsdd.npz"


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A classification data set: inputs (N, ...) float32, labels 0..K-1.

    Inputs are images (N, C, H, W) or vectors (N, D); those of all data sets known by name are in
    [0, 1], those of a feature file as they are there. Raises InputError for labels outside the K
    classes, and for NaN or Inf.
    """

    name: str
    classes: int
    train: Examples
    test: Examples

    def __post_init__(self) -> None:
        for half, examples in (("training", self.train), ("test", self.test)):
            check_examples(examples, range(self.classes), f"the {half} data of {self.name}")


@dataclass(frozen=True)
class Location:
    """Where data sets lie: `folder` as torchvision lays it out, or None; and whether to fetch."""

    folder: Path | None = None
    download: bool = False

    @classmethod
    def of(cls, folder: Path | None, download: bool) -> Location:
        """Return the location given, or else the one in the environment variable PROBE_DATA."""
        named = os.environ.get("PROBE_DATA")
        return cls(folder or (Path(named) if named else None), download)


def load(name: str, location: Location | None = None) -> Dataset:
    """Load a data set by name, or a feature file NAME.npz (`scenarios.data.feature_files`).

    Those in BUNDLED need no folder. A feature file's data set is called by the file's name without
    its ending. Raises InputError for an unknown name, and for files that are missing, incomplete or
    corrupt, saying which were looked for and how to get them.
    """
    if name.endswith(SUFFIX):
        return _feature_file(name, location or Location())
    if name not in LOADERS:
        raise unknown("data set", name, LOADERS)
    return LOADERS[name](location or Location())


def files_of(name: str, location: Location) -> list[Path]:
    """Return the files that `load` reads or, of those not there, would read; none if bundled."""
    if name.endswith(SUFFIX):
        return places(name, location.folder)
    if name in BUNDLED or location.folder is None:
        return []
    if name in PUBLISHED:
        return [location.folder / file for own in PUBLISHED[name].files.values() for file in own]
    return [location.folder / _SPOKEN]


def held_out(data: Dataset, count: int) -> Dataset:
    """Return the data with the last `count` training examples of each class for testing.

    The test data are left out: settings are chosen without them. Raises InputError for a count
    below 1, and for a class that would have none left to train on.
    """
    if count < 1:
        raise InputError(f"hold out 1 or more training examples per class, not {count}")
    train, test = [], []
    for label in range(data.classes):
        places = (data.train.y == label).nonzero().squeeze(1)
        if len(places) <= count:
            raise InputError(
                f"{data.name} has {len(places)} training examples of class {label}: hold out fewer "
                f"than that for validation, not {count}"
            )
        train.append(places[:-count])
        test.append(places[-count:])
    halves = (data.train.take(torch.cat(part).sort().values) for part in (train, test))
    return Dataset(name=data.name, classes=data.classes, train=next(halves), test=next(halves))


def _bundled(
    name: str, classes: int, halves: Callable[[], tuple[Examples, Examples]], _: Location
) -> Dataset:
    train, test = halves()
    return Dataset(name=name, classes=classes, train=train, test=test)


def _feature_file(name: str, location: Location) -> Dataset:
    path = find(name, location.folder)
    found = read_features(path)
    classes = len(found.class_names)
    return Dataset(name=path.stem, classes=classes, train=found.train, test=found.test)


def _spoken_digits(location: Location) -> Dataset:
    # Imported here: scipy.signal costs a second, and other data do not need it.
    from scenarios.data.speech import spoken_digits

    if location.folder is None:
        raise InputError(
            "spoken_digits needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR "
            f"holds {_SPOKEN}, the recordings of the Free Spoken Digit Dataset"
        )
    train, test = spoken_digits(location.folder / _SPOKEN)
    return Dataset(name="spoken_digits", classes=10, train=train, test=test)


def _published(name: str, location: Location) -> Dataset:
    halves = read_published(name, location.folder, location.download)
    return Dataset(name=name, classes=PUBLISHED[name].classes, **halves)


BUNDLED: dict[str, Callable[[Location], Dataset]] = {
    "digits": partial(_bundled, "digits", 10, digits),
    "breast_cancer": partial(_bundled, "breast_cancer", 2, breast_cancer),
}

LOADERS: dict[str, Callable[[Location], Dataset]] = {
    **BUNDLED,
    "spoken_digits": _spoken_digits,
    **{name: partial(_published, name) for name in PUBLISHED},
}
