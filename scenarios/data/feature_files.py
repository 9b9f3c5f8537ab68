"""Feature files: any data set as one .npz file of inputs and labels.

The arrays of a file, by name (write them with `numpy.savez` or `write_features`):

- `x_train` (N, ...), `x_test` (M, ...): one example per row, a vector (D,), an image
  (C, H, W) or any other shape, the same in both; finite, of any real dtype, converted
  to float32 but not scaled.
- `y_train` (N,), `y_test` (M,): class numbers 0 .. K-1 of an integer dtype, K of 2 or
  more; every class is in both.
- `task_train` (N,), `task_test` (M,), optional: the number of each example's task, from
  0; a class need not be in every task.

Arrays of 64 MB and more of an uncompressed file, as `numpy.savez` writes it, stay on
disk: batches are read when they are needed, and the processes of a machine share one
copy. Do not change a file while it is in use.

Other arrays are not read, such as `class_names` (K,), which tells people what the
numbers mean. A study names the file in place of a data set, see `find`. A name such as
`sites/{task}.npz` stands for one file per task, numbered from 0 or 1, in that order.
"""

from collections.abc import Sequence
from glob import escape, glob
from os.path import expanduser
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.arrays import Arrays
from probe.errors import InputError, located
from probe.examples import Examples, check_examples, match_inputs
from probe.files import replacing
from probe.memory import FileRows
from probe.record.checkpoints import matching_files
from probe.tasked_examples import as_examples
from scenarios.data.npz import read_arrays

SUFFIX = ".npz"
TASK = "{task}"

_REQUIRED = ("x_train", "y_train", "x_test", "y_test")
_OPTIONAL = ("task_train", "task_test")


def find(name: str, folder: Path | None) -> Path:
    """Return the path of a feature file.

    Args:
        name: The path, absolute, or relative to the current directory or else to the
            data folder; for one file per task, with {task} in it.
        folder: The data folder, None = there is none.

    Returns:
        The path.

    Raises:
        InputError: There is no such file.
    """
    # Unlike Path.expanduser, os.path's leaves ~ of an unknown user as it is; but it
    # raises for a null character.
    path = Path(name if "\0" in name else expanduser(name))
    paths = [path] if folder is None or path.is_absolute() else [path, folder / path]
    for path in paths:
        pattern = escape(str(path)).replace(TASK, "*")
        if path.is_file() or (TASK in name and glob(pattern)):
            return path
    shown = " or ".join(str(path.absolute()) for path in paths)
    raise InputError(
        f"there is no feature file {shown}: give its path, or its folder by --data"
    )


def read_features(path: Path, checked: bool = False) -> tuple[Examples, Examples, int]:
    """Read a feature file, or one file per task.

    Args:
        path: The path of the file; with {task} in its name, one file per task, whose
            examples get its task id.
        checked: Whether the numbers were checked before.

    Returns:
        Training and test data, with x (N, ...) float32, and K.

    Raises:
        InputError: The file is defective; the message names the file and the array.
    """
    pairs = []
    for file in files_of(path):
        arrays = read_arrays(file, _REQUIRED, _OPTIONAL, checked)
        pairs.append(_pair(arrays, file, checked))
    return _features(pairs, path)


def files_of(path: Path) -> list[Path]:
    """Return the files of all tasks, in order, if a path has {task} in it, else only that file."""
    if TASK not in str(path):
        return [path]
    matches = matching_files(path, ["task"])
    files = sorted((int(fields["task"]), file) for file, fields in matches)
    numbers = [number for number, _ in files]
    first = min(files[0][0], 1)
    if numbers != list(range(first, first + len(files))):
        raise InputError(
            f"{path} matches files with the numbers {numbers}, "
            "expected 0, 1, ... or 1, 2, ...: rename them"
        )
    return [file for _, file in files]


def write_features(
    path: Path,
    train: Examples,
    test: Examples,
    class_names: Sequence[str] | None = None,
) -> None:
    """Write a feature file, completely or not at all.

    Args:
        path: The path of the file.
        train: The training data.
        test: The test data.
        class_names: The names of the K classes, stored beside the other arrays; None =
            no names.

    Raises:
        InputError: The file cannot be written, or `read_features` would refuse it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> split = Examples(torch.eye(2), torch.tensor([0, 1]))
        >>> with TemporaryDirectory() as folder:
        ...     write_features(Path(folder) / "toy.npz", split, split, ["cat", "dog"])
        ...     classes = read_features(Path(folder) / "toy.npz")[2]
        >>> classes
        2
    """
    arrays: dict[str, Any] = {}
    for split, examples in (("train", train), ("test", test)):
        for kind, tensor in vars(examples).items():
            if tensor is not None:
                arrays[f"{kind}_{split}"] = tensor.numpy(force=True)
    if class_names is not None:
        arrays["class_names"] = np.asarray(class_names, dtype=np.str_)
    # A file that could not be read again is not written.
    _features([_pair(arrays, path, checked=False)], path)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def _pair(arrays: Arrays, path: Path, checked: bool) -> tuple[Examples, Examples]:
    """Return the training and the test data in a file's arrays; raises InputError that names it."""
    with located(str(path)):
        train = _split(arrays, "train", checked)
        return match_inputs(train, _split(arrays, "test", checked))


def _features(
    files: Sequence[tuple[Examples, Examples]], path: Path
) -> tuple[Examples, Examples, int]:
    """Check the splits of one file, or of one per task, and return training, test data and K."""
    with located(str(path)):
        train, test = files[0]
        if TASK in str(path):
            trains, tests = zip(*files, strict=True)
            train = as_examples(list(trains), "train")
            test = as_examples(list(tests), "test")
        count = 1 + max(int(split.y.max()) for split in (train, test))
        for name, split in (("train", train), ("test", test)):
            labels = split.y.unique()
            # Gaps are not listed: with one wild label there may be a billion.
            if int(labels[0]) != 0 or len(labels) != count or count < 2:
                raise InputError(
                    f"y_{name} has {len(labels)} classes from {int(labels[0])}, "
                    f"expected 0 to {max(count - 1, 1)}: "
                    "number them without gaps, each in train and test"
                )
            check_examples(split, range(count), f"x_{name}")
            if isinstance(split.x, FileRows):
                split.x.finite = True
    return train, test, count


def _split(arrays: Arrays, split: str, checked: bool) -> Examples:
    """Return the examples of a split; raises InputError if its arrays are not as documented."""
    x = arrays[f"x_{split}"]
    if x.dtype.kind not in "biuf" or x.ndim < 2 or not x.size:
        raise InputError(
            f"x_{split} is {x.dtype} of shape {x.shape}, expected real numbers, one "
            "row per example"
        )
    labels = {
        name: arrays[name] for name in (f"y_{split}", f"task_{split}") if name in arrays
    }
    for name, array in labels.items():
        if array.dtype.kind not in "iu":
            raise InputError(
                f"{name} is {array.dtype}, expected int64 numbers from 0: convert it"
            )
    numbers = [torch.from_numpy(array.astype(np.int64)) for array in labels.values()]
    if isinstance(x, np.memmap):
        return Examples(FileRows([x], finite=checked), *numbers)
    # Numbers too large for float32 become Inf, which is refused.
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(x, dtype=np.float32)
    return Examples(torch.from_numpy(single), *numbers)
