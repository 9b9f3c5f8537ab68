"""Tables of the redundancy of a data set's features, as CSV."""

import csv
from collections.abc import Sequence
from pathlib import Path

from probe.arrays import Floats, Ints
from probe.files import replacing
from probe.immutable import immutable

_COLUMNS = [
    "discretization",
    "feature",
    "bins",
    "selected",
    "class",
]


@immutable(eq=False)
class Redundancy:
    """SU of a data set's D features with the class and with each other, and FCBF's selection.

    Attributes:
        data: Name of the data set.
        discretization: The method that made the features discrete, in words.
        bins: The number of bins of each feature, (D,).
        with_class: SU with the class, (D,), in [0, 1], see `probe.redundancy.fcbf`.
        between: SU with each other, (D, D), in [0, 1].
        selected: The non-redundant features, indices from 0, in the order of FCBF.
    """

    data: str
    discretization: str
    bins: Ints
    with_class: Floats
    between: Floats
    selected: Sequence[int]


def write_redundancy(
    folder: Path,
    redundancy: Redundancy,
) -> Path:
    """Write folder/DATA.csv atomically.

    Each feature has a row: its number of bins, its rank in FCBF's selection (from 1;
    empty if it is redundant or irrelevant), and its SU with the class and with each
    feature up to itself, rounded to 4 decimals. As the matrix is symmetric, its upper
    half is left empty.

    Args:
        folder: The folder of the table.
        redundancy: The numbers to write.

    Returns:
        The path of the table.

    Raises:
        NotWritten: The file cannot be written.
    """
    path = folder / f"{redundancy.data}.csv"
    D = len(redundancy.bins)
    rank = {feature: str(k) for k, feature in enumerate(redundancy.selected, start=1)}
    with (
        replacing(path) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_COLUMNS, *range(D)])
        for k in range(D):
            row = [
                redundancy.discretization,
                k,
                redundancy.bins[k],
                rank.get(k, ""),
            ]
            numbers = [redundancy.with_class[k], *redundancy.between[k, : k + 1]]
            row += [f"{number:.4f}".rstrip("0").rstrip(".") for number in numbers]
            writer.writerow(row + [""] * (D - 1 - k))
    return path
