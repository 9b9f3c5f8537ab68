"""Data sets by name: from scikit-learn, a data folder, feature files or a user's function.

`load` returns each of them in memory, split into training and test data, with float32
inputs and int64 labels; `scenarios.streams` divides them into tasks. The data folder,
given by `--data` or the variable PROBE_DATA, has torchvision's layout. Nothing is
downloaded unless asked for.
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

from probe.arrays import Array
from probe.batch import kinds
from probe.errors import InputError, described, located
from probe.examples import AnyExamples, Examples, check_examples, match_inputs
from probe.extensions import DataEntry
from probe.immutable import immutable
from probe.seeding import every_global_stream, stream
from probe.tasked_examples import as_examples
from scenarios.data.feature_files import SUFFIX, TASK, files_of, find, read_features
from scenarios.data.image_sets import read_image_set
from scenarios.data.names import IMAGE_SETS
from scenarios.user_objects import USER_DATA, unregistered


@immutable(eq=False)
class Dataset:
    """A classification data set: inputs (N, ...) and labels (N,) from 0 to K - 1.

    Inputs are float32 images (N, C, H, W) or vectors (N, D). Built-in ones are in [0,
    1], those of a feature file are as stored, and user-defined ones can be anything
    that `Examples` holds.

    Attributes:
        name: The name in tables.
        classes: The number of classes, K.
        train: The training examples.
        test: The test examples.

    Raises:
        InputError: A label is outside the K classes, or an input is NaN or Inf.
    """

    name: str
    classes: int
    train: AnyExamples
    test: AnyExamples

    def __post_init__(self) -> None:
        for split, examples in (("training", self.train), ("test", self.test)):
            check_examples(
                examples, range(self.classes), f"the {split} data of {self.name}"
            )

    @property
    def has_tasks(self) -> bool:
        """Whether the examples have task ids."""
        return self.train.task is not None or self.test.task is not None


@dataclass(frozen=True)
class Location:
    """The data folder.

    Attributes:
        folder: The folder, in torchvision's layout; None = only bundled data.
        download: Whether torchvision may download missing files.
        files: The size and the time of the last change of each feature file of a study.
        checked: Whether files of this size and time were checked and hashed before.
    """

    folder: Path | None = None
    download: bool = False
    files: tuple[tuple[int, int], ...] = ()
    checked: bool = False

    @classmethod
    def of(cls, folder: Path | None, download: bool) -> Self:
        """Return the location of the data folder.

        Args:
            folder: The folder, None = the one in the environment variable PROBE_DATA.
            download: Whether torchvision may download missing files.

        Returns:
            The location.
        """
        default = os.environ.get("PROBE_DATA")
        return cls(folder or (Path(default) if default else None), download)

    def stamps(self, data: str | Sequence[str]) -> tuple[tuple[int, int], ...]:
        """Return size and last change of each feature file of a study, () for other data."""
        names = [data] if isinstance(data, str) else data
        if not all(name.endswith(SUFFIX) for name in names):
            return ()
        stamps = []
        for name in names:
            files = (path.stat() for path in files_of(find(name, self.folder)))
            stamps += [(file.st_size, file.st_mtime_ns) for file in files]
        return tuple(stamps)

    def now(self, data: str | Sequence[str]) -> Self:
        """Return the present location, `checked` if no file has changed in size or time."""
        files = self.stamps(data)
        return replace(self, files=files, checked=bool(files) and files == self.files)


def load(name: str, location: Location | None = None) -> Dataset:
    """Load a data set by name, or a feature file NAME.npz (`scenarios.data.feature_files`).

    Data sets in `BUNDLED` need no folder. The data set of a feature file is named after
    the file, without its ending; with one file per task, such as `sites/{task}.npz`, it
    is named after the folder.

    Args:
        name: The name of a data set, or the path of a feature file.
        location: The data folder, None = there is none.

    Returns:
        The data set.

    Raises:
        InputError: The name is unknown, or files are missing, incomplete or corrupt;
            the message says which, and how to get them.

    >>> load("digits").train.x.shape
    torch.Size([1437, 1, 8, 8])
    """
    location = location or Location()
    if name.endswith(SUFFIX):
        path = find(name, location.folder)
        train, test, classes = read_features(path, location.checked)
        name = path.stem.replace(TASK, "").strip("-_.") or path.parent.name
    elif name in USER_DATA:
        train, test = read_user_data(USER_DATA[name])
        classes = 1 + int(max(train.y.max(), test.y.max()))
    elif name in LOADERS:
        return LOADERS[name](location)
    else:
        raise unregistered("data set", name, LOADERS, USER_DATA)
    return Dataset(
        name=name,
        classes=classes,
        train=train,
        test=test,
    )


def held_out(data: Dataset, count: int) -> Dataset:
    """Return the data set with the last `count` training examples of each class as test data.

    Args:
        data: The data set.
        count: The number of examples per class, and per task if the examples have
            tasks; 1 or more.

    Returns:
        The data set, with the rest as training data; its test data are dropped, as
        settings must be chosen without them.

    Raises:
        InputError: A class would keep no training example.

    Example:
        >>> digits = load("digits")
        >>> len(held_out(digits, 5).test), len(held_out(digits, 5).train) == len(digits.train) - 50
        (50, True)
    """
    for group in _groups(data.train):
        if len(group) <= count:
            raise InputError(
                f"{data.name} has {len(group)} examples of class "
                f"{int(data.train.y[group[0]])}, not {count} held out and one left: "
                "lower it"
            )
    train = _of_each(data.train, slice(-count))
    test = _of_each(data.train, slice(-count, None))
    return replace(
        data,
        train=train,
        test=test,
    )


def limited(
    data: Dataset, train: int | None = None, test: int | None = None
) -> Dataset:
    """Keep the first examples of each class, or of each class of each task if there are tasks.

    Args:
        data: The data set.
        train: The number of training examples per class, None = all.
        test: The number of test examples per class, None = all.

    Returns:
        The smaller data set.
    """
    first_train = data.train if train is None else _of_each(data.train, slice(train))
    first_test = data.test if test is None else _of_each(data.test, slice(test))
    return replace(
        data,
        train=first_train,
        test=first_test,
    )


def standardized(data: Dataset) -> Dataset:
    """Standardize inputs to mean 0 and standard deviation 1 over the training examples.

    Each channel of images (N, C, H, W), or column of vectors (N, D), is standardized
    separately; a constant one is only centered.

    Args:
        data: The data set.

    Returns:
        The standardized data set.

    Raises:
        InputError: The inputs are neither images nor vectors.

    >>> x = standardized(load("digits")).train.x
    >>> round(x.mean().item(), 5), round(x.std(correction=0).item(), 5)
    (0.0, 1.0)
    """
    x = data.train.x
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.dim() < 2:
        raise InputError(
            f"{data.name} has inputs {kinds(x)}: standardize takes one float tensor"
        )
    axes = [axis for axis in range(x.dim()) if axis != 1]
    deviation, mean = torch.std_mean(x, axes, correction=0, keepdim=True)
    scale = torch.where(deviation > 0, deviation, 1.0)
    train = replace(data.train, x=(x - mean) / scale)
    test = replace(data.test, x=(data.test.x - mean) / scale)
    return replace(data, train=train, test=test)


def _of_each(split: AnyExamples, selection: slice) -> AnyExamples:
    """Return the selected examples of each class (of each task), in the order of the split."""
    indices = torch.cat([group[selection] for group in _groups(split)])
    return split.part(indices.sort().values)


def _groups(split: AnyExamples) -> Iterator[Tensor]:
    """Yield the indices (n,) of the examples of each class, in each task if they have tasks."""
    tasks = torch.zeros_like(split.y) if split.task is None else split.task
    for task, label in torch.stack([tasks, split.y]).unique(dim=1).T:
        yield ((tasks == task) & (split.y == label)).nonzero().squeeze(1)


def read_user_data(entry: DataEntry) -> tuple[AnyExamples, AnyExamples]:
    """Call a user's data function and return its training and test data.

    A list of (train, test) pairs, one per task, becomes examples with task ids. The
    function sees the same random numbers every time, and the global generators are
    restored.

    Args:
        entry: The entry of the user's data function.

    Returns:
        The training data and the test data.

    Raises:
        InputError: The function fails, or does not return two sets of examples of the
            same kind.
    """
    data = _call(entry)
    is_list = isinstance(data, list)
    by_task = is_list and len(data) > 0 and all(map(_is_pair, data))
    # [[a, b], [c, d]] may be (train, test) of two tasks, or two tasks of (train, test).
    unclear = is_list and any(isinstance(split, list) for split in data)
    is_two = isinstance(data, tuple | list) and len(data) == 2
    if not by_task and (unclear or not is_two):
        parts = "each of (x, y), Examples, a Dataset or a list of these"
        raise InputError(
            f"{entry.name} must return "
            f"(train, test), or a list of tuples (train, test), one a task, {parts}, "
            f"got {type(data).__name__}"
        )
    with located(entry.name):
        if by_task:
            train = [as_examples(task[0], "train") for task in data]
            test = [as_examples(task[1], "test") for task in data]
            data = (train, test)
        splits = [as_examples(data[0], "train"), as_examples(data[1], "test")]
        if not all(map(len, splits)):
            raise InputError("train or test holds no examples: return some for both")
        if entry.class_order:
            splits = [in_order(split, entry.class_order) for split in splits]
        return match_inputs(*splits)


def _call(entry: DataEntry) -> Any:
    """Return what a user's data function returns; raises InputError if it raises anything."""
    try:
        with every_global_stream(stream(0, "data")):
            return entry.load()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{entry.name} raised {described(error)}: "
            "give a function without arguments that returns (train, test)"
        ) from error


def in_order(split: AnyExamples, class_order: Sequence[int]) -> AnyExamples:
    """Return the examples of some classes, labeled by the position of their class in the order.

    Args:
        split: The examples.
        class_order: The classes, in order.

    Returns:
        The examples.
    """
    positions = torch.zeros(1 + max(class_order), dtype=torch.int64)
    positions[list(class_order)] = torch.arange(len(class_order))
    selected = split.of_classes(class_order)
    return replace(selected, y=positions.to(selected.y.device)[selected.y])


def _is_pair(data: Any) -> bool:
    """Return whether this is (train, test), and not a pair (x, y)."""
    pair = isinstance(data, tuple) and len(data) == 2
    return pair and not isinstance(data[1], torch.Tensor | np.ndarray)


def _digits(_: Location) -> Dataset:
    """Load 1,797 handwritten digits: images (N, 1, 8, 8) in [0, 1], split by `_split`."""
    # Read as scikit-learn reads it, whose import takes half a second.
    sklearn = distribution("scikit-learn")
    file = sklearn.locate_file("sklearn/datasets/data/digits.csv.gz")
    table = np.loadtxt(str(file), np.int64, delimiter=",")
    images = table[:, :-1].reshape(-1, 1, 8, 8) / 16
    return _split("digits", images, table[:, -1])


def _breast_cancer(_: Location) -> Dataset:
    """Load 569 tumours: vectors (N, 30) in [0, 1]; malignant is class 0, benign 1.

    The Wisconsin diagnostic data: measurements of cell nuclei. Each feature is scaled
    by its range in the training data, and test values beyond it are clipped; split by
    `_split`.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import MinMaxScaler

    x, y = load_breast_cancer(return_X_y=True)
    return _split("breast_cancer", x, y, MinMaxScaler(clip=True))


def _split(name: str, x: Array, y: Array, scaler: Any = None) -> Dataset:
    """Return a fixed 80/20 split, stratified by class, as float32 inputs and labels.

    Args:
        name: The name of the data set.
        x: The inputs, (N, ...).
        y: The labels, (N,), int64.
        scaler: A scaler of scikit-learn for the inputs, which is fitted to those of the
            training data; None = they stay as they are.
    """
    train_rows, test_rows = _stratify(y)
    if scaler is not None:
        x = scaler.fit(x[train_rows]).transform(x)
    examples = Examples(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    train = examples.take(torch.from_numpy(train_rows))
    test = examples.take(torch.from_numpy(test_rows))
    return Dataset(
        name=name,
        classes=1 + int(y.max()),
        train=train,
        test=test,
    )


def _stratify(y: Array) -> tuple[Array, Array]:
    """Return the indices of the training and the test examples, scikit-learn's split of seed 0.

    Args:
        y: The labels, (N,) int64.
    """
    # As `train_test_split(stratify=y)` of scikit-learn, whose import takes long.
    counts = np.bincount(y)
    draw = np.random.RandomState(0)
    size = len(y) * 4 // 5
    shares = counts / len(y) * size
    sizes = np.floor(shares).astype(int)
    rests = shares - sizes
    # Examples that are missing after rounding down go to the classes with the largest
    # rests, at random among equal ones.
    for rest in np.unique(rests)[::-1]:
        tied = np.flatnonzero(rests == rest)
        if more := min(len(tied), size - sizes.sum()):
            sizes[draw.choice(tied, more, replace=False)] += 1
    train = []
    test = []
    for label, count in enumerate(counts):
        rows = np.flatnonzero(y == label)[draw.permutation(count)]
        train.append(rows[: sizes[label]])
        test.append(rows[sizes[label] :])
    train_rows = draw.permutation(np.concatenate(train))
    return train_rows, draw.permutation(np.concatenate(test))


def _spoken_digits(location: Location) -> Dataset:
    """Load 3,000 recordings of digits as images (N, 1, 24, 24), see `scenarios.data.speech`."""
    # scipy.signal takes a second to import.
    from scenarios.data.speech import spoken_digits

    if location.folder is None:
        raise InputError(
            "spoken_digits needs a data folder: pass --data DIR (or set PROBE_DATA) "
            "with fsdd.npz, the Free Spoken Digit Dataset"
        )
    train, test = spoken_digits(location.folder / "fsdd.npz")
    return Dataset(
        name="spoken_digits",
        classes=10,
        train=train,
        test=test,
    )


def _image_set(name: str, location: Location) -> Dataset:
    """Load a published image set, see `scenarios.data.image_sets`."""
    splits = read_image_set(name, location.folder, location.download)
    return Dataset(
        name=name,
        classes=IMAGE_SETS[name][1],
        **splits,
    )


LOADERS: dict[str, Callable[[Location], Dataset]] = {
    "digits": _digits,
    "breast_cancer": _breast_cancer,
    "spoken_digits": _spoken_digits,
    **{name: partial(_image_set, name) for name in IMAGE_SETS},
}
"""The loaders of `scenarios.data.names.DATA_SETS`."""
