"""The types of arrays of any shape, one for each kind of number, and how values are stored."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = dict[str, Array]  # by name, as in a file of NumPy's format NPZ
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

Storage = Literal["fp32", "bf16"]
"""The precision in which floating-point values are stored."""
