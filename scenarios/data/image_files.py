"""Files of published image sets, read without running what they name: IDX (MNIST), CIFAR's pickles.

A pickle is a program: to load it is to run whatever it says, and a data folder may have been filled
by anybody. CIFAR is published as pickles all the same. They need three names to be built, and a
reader that knows these three, and calls none of them, is enough to get at the bytes. IDX is a
header and bytes.

Every reader raises InputError, the end of a sentence that names the data set, for a damaged file.
"""

from __future__ import annotations

import pickle
from math import prod
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from probe.errors import InputError
from scenarios.data.npz import Array

_BYTES = 8  # the IDX format's number for unsigned bytes
_PIXELS = 3 * 32 * 32
# All that CIFAR's published files name: what Python 2 made of an array of numpy's.
_NAMED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


def read_idx(path: Path, dimensions: int) -> Array:
    """Return the array of unsigned bytes in an IDX file, of so many dimensions.

    dimensions: 3 for images (N, H, W), 1 for labels (N,). The file is two zeros, the type of the
    values (8), the number of dimensions, their sizes as big endian whole numbers of four bytes, and
    the values. Raises InputError if it is anything else or of another length than its sizes say.

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
    """Return the images (N, 3, 32, 32) of bytes and the N labels of a file, fine if it has two.

    A pickle is a program, and any other reader would run it. Here what it names is neither imported
    nor called: an array comes out as the record of how it would have been made, and of that only
    bytes of the right number are taken. Raises InputError for a file that is cut off, names
    anything that the published files do not, or holds something else.
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
    labels = table.get(b"labels", table.get(b"fine_labels"))
    if images is None or not _is_labels(labels, len(images)):
        raise InputError(f"{path.name} does not hold images of 32 x 32 and a label for each")
    return images, labels


class _Record:
    """What a pickle wants to call, and with what: kept, not called.

    arguments: of the call; content: what the pickle says that the object holds, None if nothing.
    """

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.content: object = None

    def __setstate__(self, content: object) -> None:
        self.content = content


class _Reader(pickle.Unpickler):
    """Unpickles, but for records in the place of all that is named.

    Raises InputError for a name that the published files do not have.
    """

    def find_class(self, module: str, name: str) -> Any:
        # A list of what may be named, not of what may not: there is no end of harmful names.
        if (module, name) not in _NAMED:
            raise InputError(
                f"the file names {module}.{name}, which is no part of an array, and was not run"
            )
        return _Record


def _is_labels(value: object, count: int) -> TypeGuard[list[int]]:
    """Whether that is a list of so many whole numbers."""
    if not isinstance(value, list) or len(value) != count:
        return False
    return all(type(label) is int for label in value)


def _pixels(record: object) -> Array | None:
    """Return the images that a record of an array holds, or None if it is of anything else.

    (N, 3, 32, 32), bytes.
    """
    content = getattr(record, "content", None)
    if not isinstance(content, tuple) or len(content) != 5:
        return None
    _, shape, kind, by_column, values = content
    code = getattr(kind, "arguments", ())[:1]
    sized = isinstance(shape, tuple) and len(shape) == 2 and shape[1] == _PIXELS
    if not sized or code != (b"u1",) or by_column or not isinstance(values, bytes):
        return None
    # The shape is only what the file says; the bytes are what there is.
    if len(values) != shape[0] * _PIXELS:
        return None
    return np.frombuffer(values, np.uint8).reshape(-1, 3, 32, 32)
