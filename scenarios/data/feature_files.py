"""Feature files: any data set as one .npz file of inputs and labels.

The arrays of a file, by name (write them with `numpy.savez` or `write_features`):

- `x_train` (N, ...), `x_test` (M, ...): one example per row, a vector (D,), an image (C, H, W) or
  any other shape, the same in both; finite, of any real dtype, made float32, not scaled.
- `y_train` (N,), `y_test` (M,): class numbers 0 .. K-1 of an integer dtype, K of 2 or more; every
  class is in both.
- `task_train` (N,), `task_test` (M,), optional: the number of each example's task, from 0; a class
  need not be in every task.

Arrays of 64 MB and more of an uncompressed file, as `numpy.savez` writes it, stay on disk: batches
are read when they are needed, and a machine's processes share one copy. Do not write into it then.

Other arrays are not read, such as `class_names` (K,), which tell a reader what the numbers mean. A
study names the file in place of a data set: see `find`. A name as `sites/{task}.npz` stands for a
file of each task, numbered from 0 or 1, in that order.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from glob import escape, glob
from os.path import expanduser
from pathlib import Path

import numpy as np
import torch

from probe.errors import InputError, located
from probe.examples import Examples, check_examples, match_inputs
from probe.files import replacing
from probe.memory import Array, FileRows
from probe.record.checkpoints import Pattern
from probe.tasked_examples import as_examples
from scenarios.data.npz import read_arrays

SUFFIX = ".npz"
TASK = "{task}"

_HALVES = ("train", "test")
_REQUIRED = ("x_train", "y_train", "x_test", "y_test")
_OPTIONAL = ("task_train", "task_test")


def find(name: str, folder: Path | None) -> Path:
    """Return the path of a feature file; raises InputError if there is none.

    name: an absolute path, or one relative to the current directory or else to the data folder; of
    several files, with {task} in it.
    """
    try:
        # Path.expanduser raises for an unknown user.
        given = Path(expanduser(name))
    except ValueError:
        given = Path(name)  # which no user's name can be
    looked = [given] if folder is None or given.is_absolute() else [given, folder / given]
    for path in looked:
        if path.is_file() or (TASK in name and glob(escape(str(path)).replace(TASK, "*"))):
            return path
    shown = " or ".join(str(path.absolute()) for path in looked)
    raise InputError(
        f"there is no feature file {shown}: give its path, or point --data at its folder"
    )


def read_features(path: Path, checked: bool = False) -> tuple[Examples, Examples, int]:
    """Return training and test data of a feature file, with x (N, ...) float32, and K.

    path: with {task} of a file of each task, whose examples are given their task; checked: whether
    its numbers were looked at before. Raises InputError with file and array for every defect.
    """
    read = partial(read_arrays, required=_REQUIRED, more=_OPTIONAL, checked=checked)
    each = [_pair(read(own), own, checked) for own in files_of(path)]
    return _features(each, path)


def files_of(path: Path) -> list[Path]:
    """Return the files of all tasks in order, where a path has {task} in it, else that file."""
    if TASK not in str(path):
        return [path]
    found = sorted((int(said["task"]), own) for own, said in Pattern(path, ["task"]).files())
    numbers, first = [number for number, _ in found], min(found[0][0], 1)
    if numbers != list(range(first, first + len(found))):
        raise InputError(f"{path} fits files of numbers {numbers}, expected each from 0 or from 1")
    return [own for _, own in found]


def write_features(
    path: Path, train: Examples, test: Examples, class_names: Sequence[str] | None = None
) -> None:
    """Write a feature file, whole or not at all.

    class_names: K of them, kept beside the other arrays, or None. Raises InputError if it cannot be
    written, or `read_features` would refuse it.

    >>> from tempfile import TemporaryDirectory
    >>> half = Examples(torch.eye(2), torch.tensor([0, 1]))
    >>> with TemporaryDirectory() as folder:
    ...     write_features(Path(folder) / "toy.npz", half, half, ["cat", "dog"])
    ...     classes = read_features(Path(folder) / "toy.npz")[2]
    >>> classes
    2
    """
    arrays = {
        f"{kind}_{half}": part.numpy(force=True)
        for half, examples in (("train", train), ("test", test))
        for kind, part in vars(examples).items()
        if part is not None
    }
    if class_names is not None:
        arrays["class_names"] = np.asarray(class_names, dtype=np.str_)
    # A file that could not be read again is not written.
    _features([_pair(arrays, path, checked=False)], path)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def _pair(arrays: Mapping[str, Array], path: Path, checked: bool) -> tuple[Examples, Examples]:
    with located(str(path)):
        return match_inputs(_half(arrays, "train", checked), _half(arrays, "test", checked))


def _features(
    each: Sequence[tuple[Examples, Examples]], path: Path
) -> tuple[Examples, Examples, int]:
    """Check the content of one file, or of a file of each task, and return it."""
    with located(str(path)):
        train, test = each[0]
        if TASK in str(path):
            train, test = (as_examples([own[at] for own in each], _HALVES[at]) for at in (0, 1))
        halves = train, test
        count = 1 + max(int(half.y.max()) for half in halves)
        for half, name in zip(halves, ("train", "test"), strict=True):
            labels = half.y.unique()
            # Not one by one: a wild label may leave a billion.
            if int(labels[0]) != 0 or len(labels) != count or count < 2:
                raise InputError(
                    f"y_{name} has {len(labels)} classes from {int(labels[0])}, expected 0 to "
                    f"{max(count - 1, 1)}: number two classes or more without gaps, and give each "
                    f"of them examples to train and to test on"
                )
            check_examples(half, range(count), f"x_{name}")
            if isinstance(half.x, FileRows):
                half.x.finite = True
    return *halves, count


def _half(arrays: Mapping[str, Array], half: str, checked: bool) -> Examples:
    """Return the examples of a half; raises InputError for other arrays than are expected."""
    x, y, task = arrays[f"x_{half}"], arrays[f"y_{half}"], arrays.get(f"task_{half}")
    if x.dtype.kind not in "biuf" or x.ndim < 2 or not x.size:
        raise InputError(
            f"x_{half} is {x.dtype} of shape {x.shape}, expected real numbers (N, ...) of 1 or "
            f"more examples with 1 or more features: put one example in each row"
        )
    for name, own, noun in (("y", y, "class"), ("task", task, "task")):
        if own is not None and own.dtype.kind not in "iu":
            what = f"{name}_{half} is {own.dtype}, expected {noun} numbers from 0"
            raise InputError(f"{what}: write int64")
    numbers = [torch.from_numpy(own.astype(np.int64)) for own in (y, task) if own is not None]
    if isinstance(x, np.memmap):
        return Examples(FileRows([x], finite=checked), *numbers)
    # Numbers too large for float32 become Inf, which is refused.
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(x, dtype=np.float32)
    return Examples(torch.from_numpy(single), *numbers)
