"""Arrays by name from an untrusted file of numpy's format .npz.

A file that is no archive, is cut off, has another format, lacks arrays, or holds Python
objects (which numpy would unpickle) raises an InputError. Large uncompressed arrays are
memory-mapped.
"""

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, ZipInfo

import numpy as np

from probe.arrays import Array, Arrays
from probe.errors import InputError, described
from probe.files import check_unpacked

_LARGE = 2**26  # bytes of an array that is mapped


def read_arrays(
    path: Path, required: Sequence[str], more: Sequence[str] = (), checked: bool = False
) -> Arrays:
    """Return the named arrays of a .npz file.

    Args:
        path: The path of the file.
        required: The names of arrays that the file must have.
        more: The names of arrays that the file may have; others are not read.
        checked: Whether the checksums were verified before.

    Returns:
        The arrays by name.

    Raises:
        InputError: The file cannot be read, lacks an array, or holds Python objects
            (`allow_pickle=False`).

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", x=np.arange(3), other=np.zeros(2))
        ...     read_arrays(Path(folder) / "a.npz", ["x"])
        {'x': array([0, 1, 2])}
    """
    check_unpacked(path)
    try:
        # Opened here, as numpy gives an array for a .npy file, which cannot be closed.
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            names = [] if isinstance(archive, np.ndarray) else list(archive)
            wanted = [name for name in (*required, *more) if name in names]
            arrays = {name: _array(archive, name, file, checked) for name in wanted}
    except Exception as error:
        # A damaged or hostile file makes numpy and zipfile raise almost anything.
        reason = described(error)
        if isinstance(error, MemoryError):
            reason = "it exceeds the memory"
        raise InputError(
            f"{path} is not a complete .npz file of numbers ({reason}): write it again"
        ) from None
    if lacking := ", ".join(name for name in required if name not in arrays):
        present = ", ".join(names) or "no names"
        raise InputError(
            f"{path} lacks {lacking} (it holds {present}): save it with all arrays"
        )
    return arrays


def _array(archive: Any, name: str, file: IO[bytes], checked: bool) -> Array:
    """Return an array of an open archive, memory-mapped if it is large and uncompressed."""
    stored = f"{name}.npy"
    member = archive.zip.getinfo(stored if stored in archive.zip.namelist() else name)
    mapped = _map_array(file, member)
    if mapped is None:
        return np.asarray(archive[name])
    with archive.zip.open(member) as stream:
        # Read to its end, where the archive compares the checksum.
        while not checked and stream.read(2**24):
            pass
    return mapped


def _map_array(file: IO[bytes], member: ZipInfo) -> Array | None:
    """Map a large uncompressed array of an archive in its file; return None for any other.

    Others are in column-major order, hold Python objects or have a newer .npy version.
    """
    if member.file_size < _LARGE or member.compress_type != ZIP_STORED:
        return None
    # Before the array is the header of the archive's member, 30 bytes and then a name and
    # further fields, whose lengths are the last two numbers of the 30 bytes.
    file.seek(member.header_offset + 26)
    start = file.seek(sum(struct.unpack("<2H", file.read(4))), 1)
    if np.lib.format.read_magic(file) != (1, 0):
        return None
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    size = file.tell() - start + math.prod(shape) * dtype.itemsize
    if by_columns or dtype.hasobject or size != member.file_size:
        return None
    return np.memmap(file.name, dtype, "r", file.tell(), shape)
