"""Arrays by name from an untrusted file of numpy's format .npz.

It may be no archive, cut off, of another format, lack arrays, or hold arrays of Python objects,
which numpy would unpickle: each is an InputError.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from probe.errors import InputError, unreadable

Array = np.ndarray[Any, Any]
"""An array of any type and shape."""


def read_arrays(
    path: Path, required: Sequence[str], optional: Iterable[str] = ()
) -> dict[str, Array]:
    """Return the arrays of those names that a .npz file holds; the optional ones if it has them.

    Arrays of Python objects are refused (`allow_pickle=False`), arrays not named are not read.
    Raises InputError if the file cannot be read, or lacks an array.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "a.npz", x=np.arange(3), other=np.zeros(2))
    ...     read_arrays(Path(folder) / "a.npz", ["x"])
    {'x': array([0, 1, 2])}
    """
    try:
        # Opened here, as numpy gives an array for a .npy file, which cannot be closed.
        with path.open("rb") as file:
            return _read(np.load(file, allow_pickle=False), path, required, optional)
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error, "check the path") from None
    except MemoryError:
        raise InputError(f"{path} exceeds the available memory: write fewer examples") from None
    except Exception:
        # A damaged or hostile file makes numpy and zipfile raise almost anything.
        raise InputError(
            f"{path} is not a complete .npz file: write it again with numpy.savez"
        ) from None


def _read(
    found: Any, path: Path, required: Sequence[str], optional: Iterable[str]
) -> dict[str, Array]:
    """Return the arrays of an open archive (for a .npy file, `found` is an array)."""
    if isinstance(found, np.ndarray):
        raise InputError(f"{path} holds a single array: write several with numpy.savez")
    names = list(found)
    lacking = [name for name in required if name not in names]
    if lacking:
        raise InputError(
            f"{path} lacks {', '.join(lacking)} (it holds {', '.join(names) or 'nothing'}): write "
            f"it again with {', '.join(required)}"
        )
    wanted = [*required, *(name for name in optional if name in names)]
    return {name: _array(found, name, path) for name in wanted}


def _array(found: Any, name: str, path: Path) -> Array:
    """Return one array of an open archive; raises InputError for one of Python objects."""
    try:
        array = found[name]
    except ValueError as error:
        # numpy has only a message for this error.
        if "pickle" not in str(error):
            raise
        raise InputError(
            f"{name} of {path} holds Python objects, which are not loaded: write numbers, or for "
            f"names an array of strings"
        ) from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name} of {path} is not an array: write it again with numpy.savez")
    return array
