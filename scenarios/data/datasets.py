"""Data sets by name: bundled with scikit-learn, in a data folder, feature files, a user's own.

`load` is the way to all of them. A data set is whole in memory, already cut into training and test
data, as float32 inputs and int64 labels; how it becomes tasks is in `scenarios.streams`. The data
folder, given by `--data` or the variable PROBE_DATA, is laid out as torchvision does it, so one
that torchvision has filled serves as it is. Nothing is downloaded unless asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples, check_examples
from probe.registered import OwnData
from scenarios.data.feature_files import SUFFIX, find, read_features
from scenarios.data.image_sets import IMAGE_SETS, read_image_set
from scenarios.data.npz import Array
from scenarios.data.own import read_own
from scenarios.own_code import REGISTRY, unregistered

_SPOKEN = "fsdd.npz"


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A classification data set: inputs (N, ...), labels (N,) 0..K-1.

    Inputs are float32 images (N, C, H, W) or vectors (N, D); those of our own data sets are in
    [0, 1], those of a feature file as they are there. A user's own are any that `Examples` holds.
    name: what tables call it; classes: K; train,
    test: of different sizes N. Raises InputError for labels outside the K classes, and for NaN or
    Inf.
    """

    name: str
    classes: int
    train: Examples[Any]
    test: Examples[Any]

    def __post_init__(self) -> None:
        for half, examples in (("training", self.train), ("test", self.test)):
            check_examples(examples, range(self.classes), f"the {half} data of {self.name}")


@dataclass(frozen=True)
class Location:
    """Where data sets lie.

    folder: as torchvision lays it out, or None, which is enough for bundled data; download: whether
    torchvision may fetch what is missing.
    """

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

    >>> load("digits").train.x.shape
    torch.Size([1437, 1, 8, 8])
    """
    if name.endswith(SUFFIX):
        return _feature_file(name, location or Location())
    if name in REGISTRY.data:
        return _own(REGISTRY.data[name])
    if name not in LOADERS:
        raise unregistered("data set", name, LOADERS, REGISTRY.data)
    return LOADERS[name](location or Location())


def _own(known: OwnData) -> Dataset:
    """Return a user's own data; K is one more than the largest label."""
    train, test = read_own(known)
    classes = 1 + int(max(train.y.max(), test.y.max()))
    return Dataset(name=known.name, classes=classes, train=train, test=test)


def held_out(data: Dataset, count: int) -> Dataset:
    """Return the data with the last `count` training examples of each class for testing.

    The test data are left out: settings are chosen without them. Examples keep their order. Raises
    InputError for a count below 1, and for a class that would have none left to train on.

    >>> digits = load("digits")
    >>> len(held_out(digits, 5).test), len(held_out(digits, 5).train) == len(digits.train) - 50
    (50, True)
    """
    if count < 1:
        raise InputError(f"hold out 1 or more training examples per class, not {count}")
    train, test = [], []
    for label in range(data.classes):
        # In ascending order, so that the last ones are the same every time.
        own = (data.train.y == label).nonzero().squeeze(1)
        if len(own) <= count:
            raise InputError(
                f"{data.name} has {len(own)} training examples of class {label}: hold out fewer "
                f"than that for validation, not {count}"
            )
        train.append(own[:-count])
        test.append(own[-count:])
    halves = [data.train.take(torch.cat(part).sort().values) for part in (train, test)]
    return replace(data, train=halves[0], test=halves[1])


def limited(data: Dataset, train: int | None = None, test: int | None = None) -> Dataset:
    """Return the data with at most so many examples per class, the first; None = all of them.

    Raises InputError for a limit below 1.
    """
    halves = [
        half if limit is None else first_of_each(half, limit)
        for half, limit in ((data.train, train), (data.test, test))
    ]
    return replace(data, train=halves[0], test=halves[1])


def first_of_each(examples: Examples, limit: int) -> Examples:
    """Return the first `limit` examples of every class, in their present order.

    Raises InputError for a limit below 1.

    >>> data = Examples(torch.arange(5), torch.tensor([0, 0, 1, 0, 1]))
    >>> first_of_each(data, 2).x.tolist()
    [0, 1, 2, 4]
    """
    if limit < 1:
        raise InputError(f"a limit must be 1 or more examples per class, got {limit}")
    kept = [(examples.y == c).nonzero().squeeze(1)[:limit] for c in torch.unique(examples.y)]
    return examples.take(torch.cat(kept).sort().values)


def _digits(_: Location) -> Dataset:
    """1,797 handwritten digits: images (N, 1, 8, 8) in [0, 1].

    A fixed 80/20 split, stratified by class.
    """
    from sklearn.datasets import load_digits

    x_train, x_test, y_train, y_test = _split(*load_digits(return_X_y=True))
    images = [x.reshape(-1, 1, 8, 8) / 16 for x in (x_train, x_test)]
    train, test = _examples(images[0], y_train), _examples(images[1], y_test)
    return Dataset(name="digits", classes=10, train=train, test=test)


def _breast_cancer(_: Location) -> Dataset:
    """569 tumours: vectors (N, 30) in [0, 1]; malignant is class 0, benign 1.

    The Wisconsin diagnostic data: measurements of cell nuclei. Each feature is scaled by its range
    in the training data, test values beyond which are cut off, as inputs are to be in [0, 1]. A
    fixed 80/20 split, stratified by class.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import MinMaxScaler

    x_train, x_test, y_train, y_test = _split(*load_breast_cancer(return_X_y=True))
    scaler = MinMaxScaler(clip=True).fit(x_train)
    train = _examples(scaler.transform(x_train), y_train)
    test = _examples(scaler.transform(x_test), y_test)
    return Dataset(name="breast_cancer", classes=2, train=train, test=test)


def _split(x: Array, y: Array) -> list[Array]:
    """Return x and y as training x, test x, training y, test y: the same 80/20 split every time."""
    from sklearn.model_selection import train_test_split

    split = train_test_split(x, y, test_size=0.2, stratify=y, random_state=0)
    return list(map(np.asarray, split))


def _examples(x: Any, y: Any) -> Examples:
    """Return inputs as float32 and labels as int64."""
    inputs = np.ascontiguousarray(x, dtype=np.float32)
    return Examples(torch.from_numpy(inputs), torch.as_tensor(y, dtype=torch.int64))


def _spoken_digits(location: Location) -> Dataset:
    """3,000 recordings of the digits as images (N, 1, 24, 24), see `scenarios.data.speech`."""
    # Imported here: scipy.signal costs a second, and other data do not need it.
    from scenarios.data.speech import spoken_digits

    if location.folder is None:
        raise InputError(
            "spoken_digits needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR "
            f"holds {_SPOKEN}, the recordings of the Free Spoken Digit Dataset"
        )
    train, test = spoken_digits(location.folder / _SPOKEN)
    return Dataset(name="spoken_digits", classes=10, train=train, test=test)


def _image_set(name: str, location: Location) -> Dataset:
    """An image set as it was published, see `scenarios.data.image_sets`."""
    halves = read_image_set(name, location.folder, location.download)
    return Dataset(name=name, classes=IMAGE_SETS[name].classes, **halves)


def _feature_file(name: str, location: Location) -> Dataset:
    """A user's own data, see `scenarios.data.feature_files`."""
    path = find(name, location.folder)
    found = read_features(path)
    classes = len(found.class_names)
    return Dataset(name=path.stem, classes=classes, train=found.train, test=found.test)


BUNDLED: dict[str, Callable[[Location], Dataset]] = {
    "digits": _digits,
    "breast_cancer": _breast_cancer,
}
"""Data sets that scikit-learn brings along: they need no folder."""

LOADERS: dict[str, Callable[[Location], Dataset]] = {
    **BUNDLED,
    "spoken_digits": _spoken_digits,
    **{name: partial(_image_set, name) for name in IMAGE_SETS},
}
"""All data sets that are known by name, each with what loads it from a location."""
