"""Accuracy matrices from files of any framework: comma-separated text or NumPy's .npy."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError, described, located, unreadable
from probe.metrics.matrix import AccuracyMatrix


def read_matrix(path: Path, percent: bool = False) -> AccuracyMatrix:
    """Read the accuracy matrix R of T tasks from a `.csv` or `.npy` file.

    The file holds T rows of T cells, or T+1 rows with the accuracies before any training first; the
    number of columns decides T. An empty cell or `nan` is a cell that was not measured. In a .csv a
    UTF-8 byte order mark, Windows line ends, spaces around cells and blank lines at the end are
    allowed.

    Args:
        path: The file.
        percent: Whether cells are percentages in [0, 100], not fractions in [0, 1].

    Returns:
        The matrix.

    Raises:
        InputError: The file cannot be read, rows are ragged, cells are not numbers or out of range,
            or the shape is another. Pickled data in a .npy (which could run code) is refused.
    """
    readers = {".csv": _read_csv, ".npy": _read_npy}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputError(f"{path}: an accuracy matrix is read from a file named .csv or .npy")
    try:
        values = readers[suffix](path)
    except OSError as error:
        raise unreadable(path, error, "give the path of a .csv or .npy file") from None
    except Exception as error:
        # A corrupt header makes numpy raise anything from ValueError to tokenize.TokenError.
        raise InputError(
            f"{path} cannot be read as numbers ({described(error)}): separate them by commas, "
            f"without a header, empty where not measured, or write them with numpy.save"
        ) from None
    with located(f"{path}, {'in percent' if percent else 'in fractions as without --percent'}"):
        return AccuracyMatrix.of(values / 100 if percent else values)


def _read_csv(path: Path) -> NDArray[np.float64]:
    # Spreadsheets begin their UTF-8 with a byte order mark.
    text = path.read_text("utf-8-sig").rstrip()
    if not text:
        raise ValueError("the file is empty")

    def number(cell: str) -> float:
        return float(cell.strip() or "nan")

    return np.loadtxt(text.splitlines(), delimiter=",", comments=None, converters=number, ndmin=2)


def _read_npy(path: Path) -> NDArray[np.float64]:
    with path.open("rb") as file:
        values = np.lib.format.read_array(file, allow_pickle=False)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"it holds {values.dtype} values")
    return values.astype(np.float64)
