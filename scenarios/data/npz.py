"""Arrays by name from an untrusted file of numpy's format .npz.

It may be no archive, cut off, of another format, lack arrays, or hold arrays of Python objects,
which numpy would unpickle: each is an InputError.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from probe.errors import InputError, described, unreadable

Array = np.ndarray[Any, Any]
"""An array of any type and shape."""


def read_arrays(path: Path, required: Sequence[str], more: Sequence[str] = ()) -> dict[str, Array]:
    """Return the arrays of those names that a .npz file holds; more: if it has them.

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
            found = np.load(file, allow_pickle=False)
            names = [] if isinstance(found, np.ndarray) else list(found)
            arrays = {name: np.asarray(found[name]) for name in (*required, *more) if name in names}
    except OSError as error:
        raise unreadable(path, error, "check the path") from None
    except MemoryError:
        raise InputError(f"{path} exceeds the available memory: write fewer examples") from None
    except Exception as error:
        # A damaged or hostile file makes numpy and zipfile raise almost anything.
        raise InputError(
            f"{path} is not a complete .npz file of numbers ({described(error)}): write it again "
            f"with numpy.savez"
        ) from None
    if lacking := [name for name in required if name not in arrays]:
        raise InputError(
            f"{path} lacks {', '.join(lacking)} (it holds {', '.join(names) or 'no names'}): write "
            f"it again with {', '.join(required)}"
        )
    return arrays
