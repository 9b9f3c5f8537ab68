"""Feature files: any data set as one .npz file of inputs and labels.

The arrays of a file, by name (write them with `numpy.savez` or `write_features`):

- `x_train` (N, ...), `x_test` (M, ...): one example per row, a vector (D,), an image (C, H, W) or
  any other shape, the same in both; finite, of any real dtype, made float32, not scaled.
- `y_train` (N,), `y_test` (M,): class numbers 0 .. K-1 of an integer dtype, K of 2 or more; every
  class is in both.

Other arrays are not read, such as `class_names` (K,), which tell a reader what the numbers mean. A
study names the file in place of a data set: see `find`.
"""

from collections.abc import Mapping, Sequence
from os.path import expanduser
from pathlib import Path

import numpy as np
import torch

from probe.errors import InputError, located
from probe.examples import Examples, alike, check_examples
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
    return _features(read_arrays(path, required), path)


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
    with located(str(path)):
        halves = alike(_half(arrays, "train"), _half(arrays, "test"))
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
    return *halves, count


def _half(arrays: Mapping[str, Array], half: str) -> Examples:
    """Return the examples of a half; raises InputError for other arrays than are expected."""
    x, y = arrays[f"x_{half}"], arrays[f"y_{half}"]
    if x.dtype.kind not in "biuf" or x.ndim < 2 or not x.size:
        raise InputError(
            f"x_{half} is {x.dtype} of shape {x.shape}, expected real numbers (N, ...) of 1 or "
            f"more examples with 1 or more features: put one example in each row"
        )
    if y.dtype.kind not in "iu":
        raise InputError(f"y_{half} is {y.dtype}, expected class numbers from 0: write int64")
    # Numbers too large for float32 become Inf, which is refused.
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(x, dtype=np.float32)
    return Examples(torch.from_numpy(single), torch.from_numpy(y.astype(np.int64)))
