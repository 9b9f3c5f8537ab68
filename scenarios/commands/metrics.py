"""`probe metrics`: every metric of the literature from an accuracy matrix in a file.

The matrix may come from any framework. Metrics with further inputs (the matrix of the cumulative
learner, offline accuracy, sizes of the test sets) are computed if these are given, and otherwise
listed with the reason.
"""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from probe.errors import InputError
from probe.metrics.kemker import MOST_EXAMPLES
from probe.metrics.log_file import read_log
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.matrix_file import read_matrix
from probe.metrics.scorecard import scorecard
from probe.validation import shown

_DIGITS = len(str(MOST_EXAMPLES))


def score_file(
    file: Path,
    as_json: bool,
    test_sizes: str | None,
    reference: Path | None,
    ideal: float | None,
    percent: bool,
    source: str | None = None,
) -> None:
    """Print the metrics of the matrix in `file` as fractions, as JSON or as a table.

    file, reference: R and the cumulative learner's R, T x T or (T+1) x T, as .csv or .npy;
    test_sizes: T whole numbers, such as 10,20,..., None = equal; ideal: the accuracy of the offline
    learner on the first task; percent: whether the numbers are in percent; source: the framework
    that logged each file (`probe.metrics.log_file`). Raises InputError for unreadable values, and
    for matrices of different T.
    """
    scale = 100 if percent else 1
    R = _matrix(file, percent, source)
    # All three are in percent or none of them: they come from one experiment.
    other = _matrix(reference, percent, source) if reference else None
    if other and other.tasks != R.tasks:
        raise InputError(
            f"{file} has {R.tasks} tasks and the reference {reference} {other.tasks}: give the "
            f"cumulative learner's matrix of the same tasks"
        )
    card = scorecard(
        R,
        reference=other,
        ideal=None if ideal is None else ideal / scale,
        test_sizes=_sizes(test_sizes),
    )
    if as_json:
        print(card.to_json())
        return
    table = Table("paper", "metric", "value", "not measured because")
    for paper, metric, value in card.rows():
        reason = card.not_measured.get(f"{paper}.{metric}", "")
        table.add_row(paper, metric, "" if value is None else f"{value:.4f}", reason)
    Console().print(table)


def _matrix(path: Path, percent: bool, source: str | None) -> AccuracyMatrix:
    return read_log(path, source) if source else read_matrix(path, percent=percent)


def _sizes(text: str | None) -> list[int] | None:
    """Return the numbers of test examples, None if not given; raises InputError otherwise."""
    if text is None:
        return None
    cells = [cell.strip() for cell in text.split(",")]
    # Python refuses to read a number of thousands of digits.
    sizes = [int(cell) if cell.isdecimal() and len(cell) <= _DIGITS else 0 for cell in cells]
    if not all(1 <= size <= MOST_EXAMPLES for size in sizes):
        raise InputError(
            f"--test-sizes expects whole numbers from 1 to {MOST_EXAMPLES}, as 10,20,..., got "
            f"{shown(text)}"
        )
    return sizes
