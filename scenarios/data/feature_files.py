"""Feature files: any data set as one .npz file of inputs and labels.

The arrays of a file, by name (write them with `numpy.savez` or `write_features`):

- `x_train` (N, ...), `x_test` (M, ...): one example per row, a vector (D,), an image (C, H, W) or
  any other shape, the same in both; finite, of any real dtype, made float32, not scaled.
- `y_train` (N,), `y_test` (M,): class numbers 0 .. K-1 of an integer dtype, K of 2 or more; every
  class is in both.
- `class_names` (K,), optional: different strings in the order of the classes; by default their
  numbers, with K the largest label + 1.

Other arrays are not read. A study names the file in place of a data set: see `find`.
"""

from collections.abc import Mapping, Sequence
from os.path import expanduser
from pathlib import Path

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples
from probe.files import replacing
from scenarios.data.npz import Array, read_arrays

SUFFIX = ".npz"


def find(name: str, folder: Path | None) -> Path:
    """Return the path of a feature file; raises InputError if there is none.

    name: an absolute path, or one relative to the current directory or else to the data folder.
    """
    try:
        # Path.expanduser raises for an unknown user.
        given = Path(expanduser(name))
    except ValueError:
        given = Path(name)  # which no user's name can be
    looked = [given] if folder is None or given.is_absolute() else [given, folder / given]
    for path in looked:
        if path.is_file():
            return path
    shown = " or ".join(str(path.absolute()) for path in looked)
    raise InputError(
        f"there is no feature file {shown}: give its path, or point --data at its folder"
    )


def read_features(path: Path) -> tuple[Examples, Examples, int]:
    """Return training and test data of a feature file, with x (N, ...) float32, and K.

    Raises InputError with file and array for every defect.
    """
    required = ("x_train", "y_train", "x_test", "y_test")
    return _features(read_arrays(path, required, ["class_names"]), path)


def write_features(
    path: Path, train: Examples, test: Examples, class_names: Sequence[str] | None = None
) -> None:
    """Write a feature file, whole or not at all.

    class_names: K of them, None for the numbers. Raises InputError if it cannot be written, or
    `read_features` would refuse it.

    >>> from tempfile import TemporaryDirectory
    >>> half = Examples(torch.eye(2), torch.tensor([0, 1]))
    >>> with TemporaryDirectory() as folder:
    ...     write_features(Path(folder) / "toy.npz", half, half, ["cat", "dog"])
    ...     classes = read_features(Path(folder) / "toy.npz")[2]
    >>> classes
    2
    """
    arrays = {
        f"{kind}_{half}": getattr(examples, kind).numpy(force=True)
        for half, examples in (("train", train), ("test", test))
        for kind in ("x", "y")
    }
    if class_names is not None:
        arrays["class_names"] = np.asarray(class_names, dtype=np.str_)
    # A file that could not be read again is not written.
    _features(arrays, path)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def _features(arrays: Mapping[str, Array], path: Path) -> tuple[Examples, Examples, int]:
    """Check the arrays of a file and return its content."""
    train, test = halves = [_half(arrays, half, path) for half in ("train", "test")]
    shapes = [tuple(half.x.shape[1:]) for half in halves]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"in {path} an example of x_train has shape {shapes[0]} and one of x_test {shapes[1]}: "
            f"give both the same features"
        )
    names = arrays.get("class_names")
    if names is not None and (
        names.dtype.kind != "U" or names.ndim != 1 or len(set(names.tolist())) != len(names)
    ):
        raise InputError(
            f"class_names of {path} is {names.dtype} of shape {names.shape}, expected different "
            f"strings of shape (K,): name each class once"
        )
    count = 1 + max(int(half.y.max()) for half in halves) if names is None else len(names)
    _check_classes(train, count, f"y_train of {path}")
    _check_classes(test, count, f"y_test of {path}")
    if count < 2:
        raise InputError(
            f"{path} has a single class, so there is nothing to tell apart: give two or more"
        )
    return train, test, count


def _half(arrays: Mapping[str, Array], half: str, path: Path) -> Examples:
    """Return the examples of a half; raises InputError for invalid inputs or labels."""
    x, y = _inputs(arrays[f"x_{half}"], f"x_{half} of {path}"), arrays[f"y_{half}"]
    name = f"y_{half} of {path}"
    if y.dtype.kind not in "iu" or y.ndim != 1:
        raise InputError(
            f"{name} is {y.dtype} of shape {y.shape}, expected whole numbers of shape (N,): write "
            f"class numbers from 0, as int64"
        )
    if len(x) != len(y):
        raise InputError(
            f"{name} has {len(y)} labels for the {len(x)} examples of x_{half}: give one for each"
        )
    for label in (y.min(), y.max()):
        if not 0 <= label <= np.iinfo(np.int64).max:
            raise InputError(f"{name} has the label {label}: number the classes from 0, as int64")
    return Examples(torch.from_numpy(x), torch.from_numpy(y.astype(np.int64)))


def _inputs(x: Array, name: str) -> Array:
    """Return finite float32 inputs (N, ...); raises InputError for others."""
    if x.dtype.kind not in "biuf":
        raise InputError(f"{name} is {x.dtype}, expected real numbers: write it as float32")
    if x.ndim < 2 or not x.size:
        raise InputError(
            f"{name} has shape {x.shape}, expected (N, ...) of 1 or more examples with 1 or more "
            f"features: put one example in each row"
        )
    # Numbers too large for float32 become Inf, which is refused below.
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(x, dtype=np.float32)
    finite = np.isfinite(single.reshape(len(x), -1)).all(1)
    if not finite.all():
        raise InputError(
            f"{name} has NaN, Inf or a number too large for float32 in example "
            f"{int(finite.argmin())}: clean the data first"
        )
    return single


def _check_classes(examples: Examples, count: int, name: str) -> None:
    """Raise InputError unless labels are 0 .. count - 1 and every class has an example."""
    present = set(examples.y.unique().tolist())
    if max(present) >= count:
        raise InputError(
            f"{name} has the label {max(present)}, but there are {count} class_names: number the "
            f"classes 0 to {count - 1}, or name every class"
        )
    # The first gap alone: a wild label may leave a billion.
    gap = next((label for label in range(count) if label not in present), None)
    if gap is not None:
        raise InputError(
            f"{name} has no example of class {gap} of 0 to {count - 1}: number the classes without "
            f"gaps, and give each of them examples to train and to test on"
        )
