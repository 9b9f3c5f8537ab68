"""Accuracy matrices from files of any framework: comma-separated text or NumPy's .npy."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError, unreadable
from probe.metrics.matrix import AccuracyMatrix


def read_matrix(path: Path, percent: bool = False) -> AccuracyMatrix:
    """Read the accuracy matrix R of T tasks from a `.csv` or `.npy` file.

    The file holds T rows of T cells, or T+1 rows with the accuracies before any training first; the
    number of columns decides T. An empty cell or `nan` is a cell that was not measured. Cells are
    fractions in [0, 1], with `percent` percentages in [0, 100]. In a .csv a UTF-8 byte order mark,
    Windows line ends, spaces around cells and blank lines at the end are allowed.

    Raises InputError, naming the file and the remedy, for a file that cannot be read, ragged rows,
    cells that are not numbers or all empty, another shape, and values out of range. Pickled data in
    a .npy (which could run code) is refused.
    """
    readers = {".csv": _read_csv, ".npy": _read_npy}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputError(f"{path}: an accuracy matrix is read from a file named .csv or .npy")
    try:
        values = readers[suffix](path)
    except OSError as error:
        raise unreadable(path, error, "give the path of a .csv or .npy file") from None
    _check_shape(path, values)
    _check_range(path, values, percent)
    fractions = values / 100 if percent else values
    # One row more than columns: the first is that before any training.
    whole = len(values) > values.shape[1]
    return AccuracyMatrix(fractions) if whole else AccuracyMatrix.square(fractions)


def _read_csv(path: Path) -> NDArray[np.float64]:
    try:
        # Spreadsheets begin their UTF-8 with a byte order mark.
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: save it as comma-separated UTF-8") from None
    # Blank lines at the end say nothing; one in between is a row without cells, which is an error.
    lines = [line.split(",") for line in text.rstrip().split("\n")] if text.strip() else []
    for number, cells in enumerate(lines, 1):
        if len(cells) != len(lines[0]):
            raise InputError(
                f"{path} is ragged: line {number} has {len(cells)} cells, line 1 has "
                f"{len(lines[0])}; leave a cell that was not measured empty between its commas"
            )
    rows = [
        [_number(path, line, column, cell.strip()) for column, cell in enumerate(cells, 1)]
        for line, cells in enumerate(lines, 1)
    ]
    return np.array(rows, dtype=np.float64)


def _number(path: Path, line: int, column: int, cell: str) -> float:
    try:
        return float(cell) if cell else float("nan")
    except ValueError:
        raise InputError(
            f"{path}, line {line}, column {column}: {cell[:40]!r} is not a number; give numbers "
            f"separated by commas, without a header, and an empty cell for what was not measured"
        ) from None


def _read_npy(path: Path) -> NDArray[np.float64]:
    with path.open("rb") as file:
        # A corrupt header makes numpy raise anything from ValueError to tokenize.TokenError.
        try:
            values = np.lib.format.read_array(file, allow_pickle=False)
        except Exception:
            raise InputError(
                f"{path} is not a readable .npy file of numbers: write it with numpy.save from an "
                f"array of floats (pickled objects are refused)"
            ) from None
    if values.dtype.kind not in "iuf":
        raise InputError(f"{path} holds {values.dtype} values, expected numbers: save floats")
    return values.astype(np.float64)


def _check_shape(path: Path, values: NDArray[np.float64]) -> None:
    if not values.size:
        raise InputError(f"{path} is empty: expected (T, T) or (T+1, T) accuracies")
    if values.ndim != 2 or len(values) - values.shape[1] not in (0, 1):
        raise InputError(
            f"{path} has shape {values.shape}, which is not an accuracy matrix: expected (T, T) "
            f"(rows: after each task, columns: tasks) or (T+1, T) with a first row before training"
        )


def _check_range(path: Path, values: NDArray[np.float64], percent: bool) -> None:
    if np.isnan(values).all():
        raise InputError(f"{path} holds no number: fill in the cells that were measured")
    top = 100 if percent else 1
    # Compared with NaN everything is False: what was not measured is not out of range.
    outside = np.argwhere((values < 0) | (values > top))
    if not len(outside):
        return
    row, column = (int(k) for k in outside[0])
    # Percentages are suggested only where all cells could be some.
    percentages = not percent and np.nanmin(values) >= 0 and np.nanmax(values) <= 100
    remedy = "pass --percent if these are percentages" if percentages else "correct this cell"
    raise InputError(
        f"{path}, row {row + 1}, column {column + 1}: {float(values[row, column])} is outside "
        f"[0, {top}]; {remedy}"
    )
