"""Files of published image sets: IDX (MNIST), and CIFAR's pickles, read without running them.

Loading a pickle runs it, and anybody may have filled a data folder. CIFAR's pickles name three
functions; a reader that knows these three, and calls none of them, gets at the bytes. Every reader
raises InputError, the end of a sentence that names the data set, for a damaged file.
"""

from __future__ import annotations

import pickle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from probe.errors import InputError
from scenarios.data.npz import Array

_BYTES = 8  # the IDX format's number for unsigned bytes
_PIXELS = 3 * 32 * 32
# All names in CIFAR's published files: an array of numpy's as Python 2 pickled it.
_NAMED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


def read_idx(path: Path, dimensions: int) -> Array:
    """Return the array of unsigned bytes in an IDX file.

    dimensions: 3 for images (N, H, W), 1 for labels (N,). The file is two zeros, the type of the
    values (8), the number of dimensions, their sizes as big endian integers of four bytes, and the
    values. Raises InputError for anything else, or another length.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "two").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 7]))
    ...     read_idx(Path(folder) / "two", dimensions=1).tolist()
    [5, 7]
    """
    content = path.read_bytes()
    start = 4 * (1 + dimensions)
    if len(content) < start or content[:4] != bytes([0, 0, _BYTES, dimensions]):
        raise InputError(
            f"{path.name} does not start as a file of {dimensions}-dimensional bytes in the IDX "
            f"format"
        )
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    if len(content) - start != prod(shape):
        raise InputError(
            f"{path.name} holds {len(content) - start:,} values where its header says "
            f"{prod(shape):,}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def read_cifar(path: Path) -> tuple[Array, list[int]]:
    """Return the images (N, 3, 32, 32) of bytes and the N labels, the fine ones, of a file.

    Names in the pickle are neither imported nor called: an array is read from the record of the
    call that would have made it. Raises InputError for a file that is cut off, has names that the
    published files lack, or holds something else.
    """
    try:
        with path.open("rb") as file:
            found = _Reader(file, encoding="bytes").load()
    except (OSError, InputError):
        raise
    except Exception as error:
        # A damaged pickle makes the reader raise almost anything.
        raise InputError(f"{path.name} is damaged: {type(error).__name__}") from None
    # Keys are bytes, as Python 2 wrote them.
    table = found if isinstance(found, dict) else {}
    images = _pixels(table.get(b"data"))
    labels: Any = table.get(b"labels", table.get(b"fine_labels"))
    whole = isinstance(labels, list) and all(type(label) is int for label in labels)
    if images is None or not whole or len(labels) != len(images):
        raise InputError(f"{path.name} does not hold images of 32 x 32 and a label for each")
    return images, labels


class _Record:
    """A call in a pickle, not made: its arguments, and the state that the pickle sets, if any."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.content: object = None

    def __setstate__(self, content: object) -> None:
        self.content = content


class _Reader(pickle.Unpickler):
    """An unpickler with a record in place of each named object.

    Raises InputError for a name that the published files lack.
    """

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMED:
            raise InputError(
                f"the file names {module}.{name}, which is no part of an array, and was not run"
            )
        return _Record


def _pixels(record: object) -> Array | None:
    """Return the images (N, 3, 32, 32) in the record of an array, None for anything else."""
    content = getattr(record, "content", None)
    if not isinstance(content, tuple) or len(content) != 5:
        return None
    _, shape, kind, by_column, values = content
    code = getattr(kind, "arguments", ())[:1]
    sized = isinstance(shape, tuple) and len(shape) == 2 and shape[1] == _PIXELS
    if not sized or code != (b"u1",) or by_column or not isinstance(values, bytes):
        return None
    if len(values) != shape[0] * _PIXELS:
        return None
    return np.frombuffer(values, np.uint8).reshape(-1, 3, 32, 32)
