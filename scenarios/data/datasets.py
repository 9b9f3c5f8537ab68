"""Data sets by name: bundled with scikit-learn, in a data folder, feature files, user-defined.

`load` gives all of them: whole in memory, split into training and test data, float32 inputs and
int64 labels; `scenarios.streams` makes tasks of them. The data folder, given by `--data` or the
variable PROBE_DATA, has torchvision's layout. Nothing is downloaded unless asked for.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from probe.batch import kinds
from probe.errors import InputError
from probe.examples import Examples, check_examples
from scenarios.data.feature_files import SUFFIX, TASK, files_of, find, read_features
from scenarios.data.image_sets import IMAGE_SETS, read_image_set
from scenarios.data.npz import Array
from scenarios.data.own import read_own
from scenarios.own_code import REGISTRY, unregistered

_SPOKEN = "fsdd.npz"


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A classification data set: inputs (N, ...), labels (N,) 0..K-1.

    Inputs are float32 images (N, C, H, W) or vectors (N, D); built-in ones are in [0, 1], those of
    a feature file as they are there, user-defined ones anything that `Examples` holds. name: in
    tables; classes: K. Raises InputError for labels outside the K classes, and for NaN or Inf.
    """

    name: str
    classes: int
    train: Examples[Any]
    test: Examples[Any]

    def __post_init__(self) -> None:
        for half, examples in (("training", self.train), ("test", self.test)):
            check_examples(examples, range(self.classes), f"the {half} data of {self.name}")

    @property
    def has_tasks(self) -> bool:
        """Whether the examples have their tasks."""
        return self.train.task is not None or self.test.task is not None


@dataclass(frozen=True)
class Location:
    """The data folder.

    folder: in torchvision's layout, None for bundled data alone; download: whether torchvision may
    fetch missing files; files: stamps of a study's feature files; checked: whether they are those
    of files that were looked at and hashed before.
    """

    folder: Path | None = None
    download: bool = False
    files: tuple[tuple[int, int], ...] = ()
    checked: bool = False

    @classmethod
    def of(cls, folder: Path | None, download: bool) -> Self:
        """Return the given location, or else that of the environment variable PROBE_DATA."""
        named = os.environ.get("PROBE_DATA")
        return cls(folder or (Path(named) if named else None), download)

    def stamps(self, data: str | Sequence[str]) -> tuple[tuple[int, int], ...]:
        """Return size and last change of each feature file of a study, none for other data."""
        each = [data] if isinstance(data, str) else data
        if not all(name.endswith(SUFFIX) for name in each):
            return ()
        files = (own.stat() for name in each for own in files_of(find(name, self.folder)))
        return tuple((file.st_size, file.st_mtime_ns) for file in files)

    def now(self, data: str | Sequence[str]) -> Self:
        """Return the location as it is now, `checked` if no file has changed since its stamp."""
        files = self.stamps(data)
        return replace(self, files=files, checked=bool(files) and files == self.files)


def load(name: str, location: Location | None = None) -> Dataset:
    """Load a data set by name, or a feature file NAME.npz (`scenarios.data.feature_files`).

    BUNDLED ones need no folder. A feature file's data set has the file's name without its ending,
    files of tasks, as `sites/{task}.npz`, that of their folder. Raises InputError for an unknown
    name, and for missing, incomplete or corrupt files, with their names and the way to get them.

    >>> load("digits").train.x.shape
    torch.Size([1437, 1, 8, 8])
    """
    if name.endswith(SUFFIX):
        location = location or Location()
        path = find(name, location.folder)
        train, test, classes = read_features(path, location.checked)
        title = path.stem.replace(TASK, "").strip("-_.") or path.parent.name
        return Dataset(name=title, classes=classes, train=train, test=test)
    if name in REGISTRY.data:
        train, test = read_own(REGISTRY.data[name])
        classes = 1 + int(max(train.y.max(), test.y.max()))
        return Dataset(name=name, classes=classes, train=train, test=test)
    if name not in LOADERS:
        raise unregistered("data set", name, LOADERS, REGISTRY.data)
    return LOADERS[name](location or Location())


def held_out(data: Dataset, count: int) -> Dataset:
    """Return the data with the last `count` training examples of each class for testing.

    Of each class in each task, where the examples have their tasks. The test data are left out, as
    settings are chosen without them. count: from 1. Raises InputError for a class without more
    training examples.

    >>> digits = load("digits")
    >>> len(held_out(digits, 5).test), len(held_out(digits, 5).train) == len(digits.train) - 50
    (50, True)
    """
    held = torch.zeros(len(data.train), dtype=torch.bool)
    for own in _groups(data.train):
        if len(own) <= count:
            label = int(data.train.y[own[0]])
            raise InputError(
                f"{data.name} has {len(own)} training examples of class {label}: hold out fewer "
                f"than that for validation, not {count}"
            )
        held[own[-count:]] = True
    train, test = (data.train.part(each.nonzero().squeeze(1)) for each in (~held, held))
    return replace(data, train=train, test=test)


def limited(data: Dataset, train: int | None = None, test: int | None = None) -> Dataset:
    """Return the data with the first `train` and `test` examples per class, None for all.

    Per class of each task, where the examples have their tasks.
    """
    return replace(data, train=_first(data.train, train), test=_first(data.test, test))


def standardized(data: Dataset) -> Dataset:
    """Return the data with inputs of mean 0 and deviation 1 over the training examples.

    Each channel of images (N, C, H, W), or column of vectors (N, D), by itself; a constant one is
    only centered. Raises InputError for inputs of other kinds.

    >>> x = standardized(load("digits")).train.x
    >>> round(x.mean().item(), 5), round(x.std(correction=0).item(), 5)
    (0.0, 1.0)
    """
    x = data.train.x
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.dim() < 2:
        raise InputError(f"{data.name} has inputs {kinds(x)}: standardize takes one float tensor")
    axes = [axis for axis in range(x.dim()) if axis != 1]
    deviation, mean = torch.std_mean(x, axes, correction=0, keepdim=True)
    scale = torch.where(deviation > 0, deviation, 1.0)
    train, test = (replace(half, x=(half.x - mean) / scale) for half in (data.train, data.test))
    return replace(data, train=train, test=test)


def _first(half: Examples[Any], limit: int | None) -> Examples[Any]:
    if limit is None:
        return half
    kept = [own[:limit] for own in _groups(half)]
    return half.part(torch.cat(kept).sort().values)


def _groups(half: Examples[Any]) -> Iterator[Tensor]:
    """Yield the examples of each class, in each task if they have tasks, by their numbers (n,)."""
    tags = torch.zeros_like(half.y) if half.task is None else half.task
    for each in torch.stack([tags, half.y]).unique(dim=1).T:
        yield ((tags == each[0]) & (half.y == each[1])).nonzero().squeeze(1)


def _digits(_: Location) -> Dataset:
    """Load 1,797 handwritten digits: images (N, 1, 8, 8) in [0, 1], split by `_split`."""
    # Read as scikit-learn reads it, whose import takes half a second.
    file = distribution("scikit-learn").locate_file("sklearn/datasets/data/digits.csv.gz")
    table = np.loadtxt(str(file), delimiter=",")
    return _split("digits", table[:, :-1].reshape(-1, 1, 8, 8) / 16, table[:, -1].astype(np.int64))


def _breast_cancer(_: Location) -> Dataset:
    """Load 569 tumours: vectors (N, 30) in [0, 1]; malignant is class 0, benign 1.

    The Wisconsin diagnostic data: measurements of cell nuclei. Each feature is scaled by its range
    in the training data, beyond which test values are cut off; split by `_split`.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import MinMaxScaler

    x, y = load_breast_cancer(return_X_y=True)
    return _split("breast_cancer", x, y, MinMaxScaler(clip=True))


def _split(name: str, x: Array, y: Array, scaler: Any = None) -> Dataset:
    """Return a fixed 80/20 split, stratified by class, as float32 inputs and int64 labels.

    scaler: of scikit-learn, fitted to the training inputs.
    """
    halves = _stratified(y)
    x_train, x_test = (x[half] for half in halves)
    if scaler is not None:
        x_train, x_test = scaler.fit_transform(x_train), scaler.transform(x_test)
    train, test = (
        Examples(torch.tensor(inputs, dtype=torch.float32), torch.tensor(y[half]))
        for inputs, half in zip((x_train, x_test), halves, strict=True)
    )
    return Dataset(name=name, classes=1 + int(y.max()), train=train, test=test)


def _stratified(y: Array) -> tuple[Array, Array]:
    """Return the numbers of training and test examples (n,) of scikit-learn's split with seed 0.

    y: labels (N,) int64.
    """
    counts, draw, size = np.bincount(y), np.random.RandomState(0), len(y) * 4 // 5
    shares = counts / len(y) * size
    kept = np.floor(shares).astype(int)
    for left in np.unique(shares - np.floor(shares))[::-1]:
        tied = np.flatnonzero(shares - np.floor(shares) == left)
        if more := min(len(tied), size - kept.sum()):
            kept[draw.choice(tied, more, replace=False)] += 1
    own = [np.flatnonzero(y == k)[draw.permutation(n)] for k, n in enumerate(counts)]
    halves = zip(*(np.split(each, [n]) for each, n in zip(own, kept, strict=True)), strict=True)
    train, test = (draw.permutation(np.concatenate(half)) for half in halves)
    return train, test


def _spoken_digits(location: Location) -> Dataset:
    """Load 3,000 recordings of digits as images (N, 1, 24, 24), see `scenarios.data.speech`."""
    # scipy.signal takes a second to import.
    from scenarios.data.speech import spoken_digits

    if location.folder is None:
        raise InputError(
            "spoken_digits needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR "
            f"holds {_SPOKEN}, the recordings of the Free Spoken Digit Dataset"
        )
    train, test = spoken_digits(location.folder / _SPOKEN)
    return Dataset(name="spoken_digits", classes=10, train=train, test=test)


def _image_set(name: str, location: Location) -> Dataset:
    """Load a published image set, see `scenarios.data.image_sets`."""
    halves = read_image_set(name, location.folder, location.download)
    return Dataset(name=name, classes=IMAGE_SETS[name].classes, **halves)


BUNDLED: dict[str, Callable[[Location], Dataset]] = {
    "digits": _digits,
    "breast_cancer": _breast_cancer,
}
"""Data sets of scikit-learn, which need no folder."""

LOADERS: dict[str, Callable[[Location], Dataset]] = {
    **BUNDLED,
    "spoken_digits": _spoken_digits,
    **{name: partial(_image_set, name) for name in IMAGE_SETS},
}
"""The loaders of all data sets known by name."""
