"""Arrays of bytes in the IDX format, in which MNIST and Fashion-MNIST are published."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from probe.errors import InputError
from scenarios.arrays import Array

_BYTES = 8  # the format's number for unsigned bytes


def read_idx(path: Path, dimensions: int) -> Array:
    """Return the array of unsigned bytes in an IDX file, of so many dimensions.

    The file is two zeros, the type of the values (8), the number of dimensions, their sizes as big
    endian whole numbers of four bytes, and the values. Raises InputError, the end of a sentence, if
    it is anything else or of another length than its sizes say.
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
