"""Accuracy matrices from files: comma-separated text, NumPy's .npy, logs of other frameworks.

Logs are read as text: no code in them is run.
"""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

import numpy as np

from probe.arguments import checked
from probe.arrays import Floats
from probe.errors import InputError, check_known, described, located, unreadable
from probe.metrics.matrix import AccuracyMatrix

_MOST_TASKS = 1000  # the metrics after each task take their cube
_MOST_BYTES = (
    2**25
)  # of a file: as many tasks, in the 25 characters a cell of numpy.savetxt
_ROUNDING = 0.0101  # of a mean and its cells: fractions of two digits
_SUMMARIES = re.compile(
    "avg|average|mean|median|std|stdev|sd|var|min|max|sum|total|joint|offline|"
    "(test_|eval_)?acc(uracy)?|score|value|loss",
    re.I,
)

_Cells = tuple[Floats, bool, bool]  # values, whether with a header, with labels

_AVALANCHE = "eval_exp,training_exp,eval_accuracy,"
_ONE = "keep the lines of one in a file of its own"
# NumPy 2 writes `np.float64(...)` around a number, NumPy 1 does not.
_NUMBER = r"(?:np\.float64\()?(\d+(?:\.\d+)?(?:e-?\d+)?)"
_COUNT = r"(\d{1,9})"  # Python refuses to read a number of thousands of digits


class Reading(NamedTuple):
    """The way in which the accuracy matrix in a file was read.

    Attributes:
        file: The file.
        unit: "percent" or "fractions".
        header: Whether the first line was read as names of the columns.
        labels: Whether the first column was read as names of the rows.
        row_0: Whether accuracies before any training were read.
        forward: Whether a task has an accuracy other than 0 before it is learned.
        notes: What may be wrong with the matrix.
    """

    file: str
    unit: str
    header: bool = False
    labels: bool = False
    row_0: bool = False
    forward: bool = True
    notes: Sequence[str] = ()


@checked
def read_matrix(path: str | Path, percent: bool = False) -> AccuracyMatrix:
    """Read the accuracy matrix R of T tasks from a `.csv` or `.npy` file.

    The file holds T rows of T cells, or T+1 rows with the accuracies before any
    training first; T is the number of columns. An empty cell or `nan` means "not
    measured". A .csv may have a UTF-8 byte order mark, Windows line ends, spaces around
    cells and blank lines at the end. Text, or whole numbers that count up from 0 or 1,
    in the first line or column is labels, as pandas writes them, or a first line of
    whole numbers in equal steps above others. The long `eval_results.csv` of
    Avalanche's CSVLogger is read as well.

    Args:
        path: The file.
        percent: Whether cells are percentages in [0, 100], not fractions in [0, 1].

    Returns:
        The matrix.

    Raises:
        InputError: The file cannot be read or is too large, rows are ragged, cells are
            not numbers or out of range, the shape is wrong, or there are means or
            deviations beside the tasks. Pickled data in a .npy (which could run code)
            is refused.
    """
    return read_matrix_file(Path(path), percent)[0]


def read_matrix_file(
    path: Path, percent: bool = False
) -> tuple[AccuracyMatrix, Reading]:
    """Read an accuracy matrix as `read_matrix` does.

    Args:
        path: The file.
        percent: Whether cells are percentages.

    Returns:
        The matrix, and how it was read.

    Raises:
        InputError: As for `read_matrix`.
    """
    values, header, labels = _read_cells(path)
    unit = "percent" if percent else "fractions"
    with located(f"{path}, in {unit}"):
        R = AccuracyMatrix.of(values / 100 if percent else values)
    table = R.values
    square = table[1:] if len(values) == R.tasks else table
    if len(values) > R.tasks and _summarizes(table):
        raise InputError(
            f"{path}: the last row holds the means or spread of the others: remove it"
        )
    # The corner may be the mean of either.
    if _summarizes(square[:, :-1]) and _summarizes(square.T[:, :-1]):
        raise InputError(
            f"{path}: the last row and column hold means of the others: remove both"
        )
    above = np.triu_indices(R.tasks, 1)
    notes = list[str]()
    if percent and not (values > 1).any():
        notes.append("no value is above 1: fractions, not percentages?")
    if R.tasks > 1 and not np.nan_to_num(np.tril(table[1:], -1)).any():
        notes.append(
            "no value but 0 below the diagonal: transposed? A row is a number of tasks"
        )
    forward = R.tasks == 1 or bool(table[1:][above].any())
    if not forward:
        notes.append(
            "only 0 above the diagonal: not measured, or transposed? No forward "
            "transfer"
        )
    row_0 = not np.isnan(table[0]).all()
    return R, Reading(str(path), unit, header, labels, row_0, forward, notes)


def _summarizes(table: Floats) -> bool:
    """Return whether the last row holds means or standard deviations of the others."""
    above = table[:-1]
    learned = np.tri(len(table) - 1, table.shape[1], dtype=bool)
    # Means may be over all tasks, over those learned (others being 0, or any number),
    # or without the last row.
    kinds = (
        np.ma.masked_invalid(above),
        np.ma.masked_less_equal(above, 0),
        np.ma.masked_invalid(np.where(learned, above, np.nan)),
        np.ma.masked_invalid(above[:-1]),
    )
    last = table[-1]
    # A single number may be the mean of the others by chance.
    if not last.any() or np.isfinite(last).sum() < 2:
        return False
    for rows in kinds:
        # If rows are nearly equal, as at the ceiling, the last may equal their mean, too.
        if len(rows) < 2 or not (rows.std(0) > 4 * _ROUNDING).any():
            continue
        for line in (rows.mean(0), rows.std(0), rows.std(0, ddof=1)):
            if np.allclose(
                last, np.ma.filled(line, np.nan), 0, _ROUNDING, equal_nan=True
            ):
                return True
    return False


def _read_cells(path: Path) -> _Cells:
    """Return the numbers of a CSV or NPY file, and whether it has a header and labels.

    Raises InputError for every other file, and for one that is too large.
    """
    readers = {".csv": _read_csv, ".npy": _read_npy}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputError(f"{path} must be a .csv or .npy file with an accuracy matrix")
    try:
        _check_size(path)
        return readers[suffix](path)
    except OSError as error:
        raise unreadable(path, error, "give the path of a .csv or .npy file") from None
    except InputError:
        raise
    except Exception as error:
        # A corrupt header makes numpy raise anything from ValueError to
        # tokenize.TokenError.
        raise InputError(
            f"{path} cannot be read as numbers ({described(error)}): "
            "use numpy.save, or separate them by commas, empty where not measured"
        ) from None


def _check_size(path: Path) -> None:
    status = path.stat()
    if not S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
        raise InputError(
            f"{path} cannot be read: give a file of at most {_MOST_BYTES >> 20} MiB"
        )


def _check_shape(path: Path, *sizes: int) -> None:
    # 2 more, for a header or labels, and a row before any training.
    if max(sizes, default=0) > _MOST_TASKS + 2:
        raise InputError(
            f"{path} has {max(sizes)} rows or columns: give {_MOST_TASKS} tasks or less"
        )


def _read_csv(path: Path) -> _Cells:
    """Read a CSV that may begin with a line of names, and each line with a label.

    Names may be words or the numbers of tasks, which look like accuracies: whether they
    are names follows from all of them together.
    """
    # Spreadsheets begin their UTF-8 with a byte order mark.
    lines = path.read_text("utf-8-sig").rstrip().splitlines()
    if not lines:
        raise ValueError("the file is empty")
    if lines[0].startswith(_AVALANCHE):
        return _read_avalanche(path, lines[1:]), True, True
    _check_shape(path, len(lines), 1 + max(line.count(",") for line in lines))
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    header, labels = _header_and_labels(rows)
    names = list(rows[0]) if header else []
    if labels:
        names += [row[0] for row in rows]
    if summaries := [name for name in names if _SUMMARIES.fullmatch(name)]:
        raise InputError(
            f"{path} has {summaries[0]!r} beside the tasks: give a row for each number "
            "of tasks learned, and a column for each task"
        )
    cells = [",".join(cell or "nan" for cell in row[labels:]) for row in rows[header:]]
    if not any(cells):
        raise ValueError("no commas between numbers")
    return np.loadtxt(cells, delimiter=",", comments=None, ndmin=2), header, labels


def _header_and_labels(rows: Sequence[Sequence[str]]) -> tuple[bool, bool]:
    """Return whether the first row is a header, and whether the first column holds labels."""
    empty_corner = not rows[0][0]
    # In a table of at most 2 by 2, 0 and 1 may be accuracies or the numbers of tasks.
    if not empty_corner and max(len(rows), len(rows[0])) <= 2:
        return False, False
    # The names of the first row, as those of tasks, are also the last in the first column.
    names = rows[0][1:]
    names_recur = (
        empty_corner
        and all(names)
        and len({*names}) > 1
        and names == [row[0] for row in rows[1:]][-len(names) :]
    )
    header = names_recur or _are_labels(rows[0][empty_corner:]) or _count_up(rows)
    labels = names_recur or _are_labels([row[0] for row in rows[header:]])
    # Without labels, an empty corner is an accuracy that was not measured.
    return header and (labels or not empty_corner), labels


def _read_avalanche(path: Path, lines: Sequence[str]) -> Floats:
    """Read eval_results.csv of Avalanche's CSVLogger: an accuracy in each line.

    Returns:
        R (T + 1, T), NaN where nothing was measured.

    Raises:
        InputError: There are no accuracies, two of one cell, or more experiences to
            train on than to test on.
    """
    accuracies: dict[tuple[int, int], float] = {}
    for line in lines:
        cell = re.match(r"(\d{1,4}),(None|\d{1,4}),([01](?:\.\d+)?),", line)
        if cell is None:
            raise ValueError(f"{line:.60}")
        column, trained, accuracy = cell.groups()
        if "." not in accuracy:
            raise InputError(
                f"{path} has no accuracies: give the strategy's evaluator "
                "accuracy_metrics(experience=True)"
            )
        tasks_seen = 0 if trained == "None" else 1 + int(trained)
        value = float(accuracy)
        if accuracies.setdefault((tasks_seen, int(column)), value) != value:
            raise InputError(
                f"{path} has two accuracies on experience {column} after "
                f"{tasks_seen} experiences: evaluate one stream, once after each"
            )
    if not accuracies:
        raise ValueError("no evaluation")
    tasks_seen, tested = map(max, zip(*accuracies, strict=True))
    T = tested + 1
    _check_shape(path, T)
    if tasks_seen > T:
        raise InputError(
            f"{path} has {tasks_seen} experiences to train on, {T} to test on: evaluate "
            "a stream with the same tasks"
        )
    R = np.full((T + 1, T), np.nan)
    for position, value in accuracies.items():
        R[position] = value
    return R


def _are_labels(cells: Sequence[str]) -> bool:
    """Return whether cells are text, or whole numbers that count up from 0 or 1.

    The first cell may be the text in the corner of the table.
    """
    return bool(cells) and any(
        all(_is_text(cell) or cell == str(at + first) for at, cell in enumerate(cells))
        for first in (-1, 0, 1)
    )


def _count_up(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row of numbers in equal steps, in any order, is of another kind."""
    counts = [int(cell) if cell.isdecimal() else -1 for cell in rows[0]]
    steps = {after - before for before, after in pairwise(sorted(counts))}
    fractions = any("." in cell for row in rows[1:] for cell in row)
    return (
        len(counts) > 2
        and min(counts) >= 0
        and len(steps) == 1
        and 0 not in steps
        and fractions
    )


def _is_text(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return True
    return False


def _read_npy(path: Path) -> _Cells:
    # Mapped, so that the header is compared with the size of the file before anything
    # is read.
    values = np.lib.format.open_memmap(path, mode="r")
    _check_shape(path, *values.shape)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"it holds {values.dtype} values")
    return values.astype(np.float64), False, False


def read_log(path: Path, source: str) -> AccuracyMatrix:
    """Read R of T tasks from a log of another framework.

    For Mammoth, give `logs.pyd` of one run, in the folder `class-il` or `task-il`. For
    FACIL, give `results/acc_tag-*.txt`, or `acc_taw-*.txt` if the network uses the
    task. For PyCIL and PILOT, give the `.log` of one run, whose lines `CNN:` are read.
    PyCIL groups classes by ten, so its log holds R only if each task has ten classes.

    Args:
        path: The log.
        source: "mammoth", "facil", "pycil" or "pilot".

    Returns:
        The matrix. Tasks not learned yet, which FACIL writes as 0, are NaN. Percentages
        become fractions, rounded as in the log.

    Raises:
        InputError: The file cannot be read, is not such a log or has several runs, or
            the source is unknown.
    """
    check_known("framework", source, LOGS)
    return LOGS[source](path, text_of(path))


def text_of(path: Path) -> str:
    """Return the text of a log.

    Args:
        path: The log.

    Returns:
        The text.

    Raises:
        InputError: The file cannot be read, or is not text.
    """
    try:
        _check_size(path)
        return path.read_text("utf-8")
    except OSError as error:
        raise unreadable(path, error, "give a log") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file: give a log") from None


def learned(rows: Sequence[Sequence[float]], path: Path) -> AccuracyMatrix:
    """Build R from rows of accuracies on the tasks learned so far, or on all tasks.

    Args:
        rows: The rows of R, after 1 to T tasks.
        path: The file that they come from, for messages.

    Returns:
        R.

    Raises:
        InputError: A row is too short or too long, or a value is not a fraction.
    """
    R = np.full((len(rows), len(rows)), np.nan)
    for at, row in enumerate(rows):
        if not at < len(row) <= len(rows):
            raise InputError(
                f"{path} has {len(row)} accuracies after {at + 1} tasks: "
                "give a log with one evaluation after each task"
            )
        R[at, : len(row)] = row
    if not rows or not ((R >= 0) & (R <= 1) | np.isnan(R)).all():
        raise InputError(
            f"{path} holds no accuracies in percent: give the log of a whole run"
        )
    return AccuracyMatrix.square(R)


def _mammoth(path: Path, text: str) -> AccuracyMatrix:
    """Read Mammoth's logs.pyd: a line for each run, a dict of percentages by step and task."""
    runs = [line for line in text.splitlines() if line.strip()] or [""]
    cells = re.findall(rf"'accuracy_{_COUNT}_task{_COUNT}': {_NUMBER}", runs[0])
    if not cells:
        raise InputError(
            f"{path} holds no accuracies as Mammoth writes them: give its logs.pyd"
        )
    if len(runs) > 1:
        raise InputError(f"{path} has {len(runs)} runs, one in each line: {_ONE}")
    if re.search(r"'joint': (?:1|True)\b", runs[0]):
        raise InputError(
            f"{path} logs joint training, which has no accuracy matrix: give another"
        )
    rows: dict[int, list[float]] = {}
    for t, task, value in sorted((int(t), int(task), p) for task, t, p in cells):
        row = rows.setdefault(t, [])
        if task != len(row) + 1 or t != len(rows):
            raise InputError(
                f"{path} lacks or repeats accuracies after {t} tasks: give a whole log"
            )
        row.append(float(value) / 100)
    return learned(list(rows.values()), path)


def _facil(path: Path, text: str) -> AccuracyMatrix:
    """Read FACIL's acc_tag-*.txt: a square of fractions, separated by tabs."""
    lines = [line.split("\t") for line in text.splitlines()]
    if not lines or not all(
        len(line) == len(lines) and all(re.fullmatch(r"\d\.\d+", cell) for cell in line)
        for line in lines
    ):
        raise InputError(
            f"{path} is not a square FACIL matrix: give results/acc_tag-*.txt"
        )
    values = np.array(lines, dtype=np.float64)
    # A network that has learned a task is right at times: a row of 0 is one not
    # reached.
    reached = int(max(np.flatnonzero(values.any(1)), default=-1)) + 1
    values[np.triu_indices_from(values, 1)] = values[reached:] = np.nan
    if not reached or (values > 1).any():
        raise InputError(
            f"{path} holds no accuracies, fractions from 0 to 1: give another file"
        )
    return AccuracyMatrix.square(values)


def _pycil(path: Path, text: str) -> AccuracyMatrix:
    """Read the log of PyCIL: after each task a dict of percentages by group of classes."""
    begins = list(map(int, re.findall(rf"=> Learning on {_COUNT}-\d+", text)))
    lines = re.findall(r"=> CNN: (\{.*\})", text)
    tables = [re.findall(rf"'{_COUNT}-\d+': {_NUMBER}", line) for line in lines]
    if not any(tables) or len(begins) < len(lines):
        raise InputError(
            f"{path} holds no accuracies as PyCIL writes them: give the .log of a run"
        )
    if begins.count(0) > 1:
        raise InputError(
            f"{path} has {begins.count(0)} runs, one after another: {_ONE}"
        )
    rows = []
    for tasks_seen, groups in enumerate(tables, 1):
        if [int(first) for first, _ in groups] != begins[:tasks_seen]:
            firsts = ", ".join(g[0] for g in groups)
            classes = ", ".join(map(str, begins[:tasks_seen]))
            raise InputError(
                f"{path} has accuracies from {firsts}, tasks from class {classes}: "
                "PyCIL groups classes by ten, so give a .csv"
            )
        rows.append([float(value) / 100 for _, value in groups])
    return learned(rows, path)


LOGS: Mapping[str, Callable[[Path, str], AccuracyMatrix]] = {
    "mammoth": _mammoth,
    "facil": _facil,
    "pycil": _pycil,
    "pilot": _pycil,
}
