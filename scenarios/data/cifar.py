"""The files of CIFAR-10 and CIFAR-100, which are pickles, read without running what they name."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from probe.errors import InputError
from scenarios.data.arrays import Array

_PIXELS = 3 * 32 * 32
# All that the published files name: what Python 2 made of an array of numpy's.
_NAMED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


def read_batch(path: Path) -> tuple[Array, list[int]]:
    """Return the images (N, 3, 32, 32) of bytes and the N labels of a file, fine if it has two.

    A pickle is a program, and any other reader would run it. Here what it names is neither imported
    nor called: an array comes out as the record of how it would have been made, and of that only
    bytes of the right number are taken. Raises InputError, the end of a sentence, for a file that
    is cut off, names anything that the published files do not, or holds something else.
    """
    try:
        with path.open("rb") as file:
            found = _Reader(file, encoding="bytes").load()
    except (OSError, InputError):
        raise
    except Exception as error:
        # A damaged pickle makes the reader raise almost anything.
        raise InputError(f"{path.name} is damaged: {type(error).__name__}") from None
    table = found if isinstance(found, dict) else {}
    images = _pixels(table.get(b"data"))
    labels = table.get(b"labels", table.get(b"fine_labels"))
    if images is None or not _is_labels(labels, len(images)):
        raise InputError(f"{path.name} does not hold images of 32 x 32 and a label for each")
    return images, labels


class _Record:
    """What a pickle wants to call, and with what: kept, not called."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
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
    """Return the images that a record of an array holds, or None if it is of anything else."""
    state = getattr(record, "state", None)
    if not isinstance(state, tuple) or len(state) != 5:
        return None
    _, shape, kind, by_column, content = state
    code = getattr(kind, "arguments", ())[:1]
    sized = isinstance(shape, tuple) and len(shape) == 2 and shape[1] == _PIXELS
    if not sized or code != (b"u1",) or by_column or not isinstance(content, bytes):
        return None
    if len(content) != shape[0] * _PIXELS:
        return None
    return np.frombuffer(content, np.uint8).reshape(-1, 3, 32, 32)
